public import DocumentModel

/// What an app declares, read from a folder in the App Services export format (layout 20210101 or 20200603) or from its stored
/// form. A value that doesn't change after it was read.
public struct AppDefinition: Sendable {
    /// The files it was read from; two definitions with equal files are the same.
    public let files: AppFiles

    /// `app_id`, the id that scopes everything of the app.
    public internal(set) var id = ""
    public internal(set) var name = ""
    /// `location` of the export (`US-VA`), answered to clients as it is.
    public internal(set) var location = "US-VA"
    /// `deployment_model` of the export (`GLOBAL` or `LOCAL`), answered to clients as it is.
    public internal(set) var deploymentModel = "GLOBAL"
    /// The environment's name (`production`, …); empty for none.
    public internal(set) var environmentTag = ""
    /// The origins from which pages may call. An empty or absent list allows all; otherwise requests from other origins are
    /// refused.
    public internal(set) var allowedRequestOrigins: [String] = []
    public internal(set) var authProviders: [AuthProvider] = []
    public internal(set) var customUserData: CustomUserData?
    public internal(set) var dataSources: [DataSource] = []
    public internal(set) var collections: [CollectionDefinition] = []
    public internal(set) var sync: SyncConfiguration?
    public internal(set) var functions: [FunctionDefinition] = []
    public internal(set) var triggers: [TriggerDefinition] = []
    public internal(set) var values: [AppValue] = []
    /// The values of the app's secrets, filled in by the registry for services that run the app.
    public var secrets = SecretValues()
    /// Environment name to its values.
    public internal(set) var environments: [ExactText: Document] = [:]
    public internal(set) var httpEndpoints: [HTTPEndpoint] = []
    public internal(set) var webhooks: [Webhook] = []
    /// The data API's settings; `nil` if the app doesn't enable it.
    public internal(set) var dataAPI: DataAPI?
    /// What the app hosts; `nil` if it doesn't enable it.
    public internal(set) var hosting: Hosting?
    /// From `partita.json`: the field that shows whether a user is online.
    public internal(set) var presence: PresenceField?
    /// From `partita.json`: whose presence a user's devices may receive.
    public internal(set) var presenceWatch = PresenceWatch.shared
    /// From `partita.json`: the binary fields that are moved to the object store.
    public internal(set) var media: [MediaField] = []
    /// From `partita.json`: the indexes of collections.
    public internal(set) var indexes: [IndexDefinition] = []

    init(files: AppFiles) { self.files = files }

    /// Reads an app, and throws if it has errors.
    ///
    /// - Parameter syntaxCheck: called for each function; see `SyntaxCheck`.
    /// - Throws: `AppDefinitionError` with all problems of the folder, not only the first.
    public init(files: AppFiles, syntaxCheck: SyntaxCheck? = nil) throws(AppDefinitionError) {
        let inspection = AppDefinition.inspect(files, syntaxCheck: syntaxCheck)
        guard inspection.isDeployable else { throw AppDefinitionError(problems: inspection.problems) }
        self = inspection.definition
    }

    /// Reads an app's folder, and throws if it has errors. Writes nothing.
    public init(folder: String, syntaxCheck: SyntaxCheck? = nil) throws(AppDefinitionError) {
        try self.init(files: AppFiles(folder: folder), syntaxCheck: syntaxCheck)
    }

    /// The stored form, from which the definition can be read again.
    public var document: Document { files.document }

    /// Reads the stored form of a definition that was once accepted.
    ///
    /// Problems that this version finds aren't errors: a part that can't be read is left out, and a rule that can't be read denies.
    /// A deployed app must not vanish because a service was updated.
    ///
    /// - Parameter packages: those of its functions, which are stored separately.
    /// - Throws: `AppDefinitionError` with code `storedFormUnknown`.
    public init(stored document: Document, packages: AppPackages = .none) throws(AppDefinitionError) {
        var files = try AppFiles(document: document)
        files.packages = packages
        self = AppDefinition.inspect(files).definition
    }
}

extension AppDefinition {
    /// Checks the syntax of a function's source; returns the problem, or `nil` when there is none.
    public typealias SyntaxCheck = (_ source: String, _ name: String) -> SyntaxProblem?

    /// A syntax problem in a function.
    public struct SyntaxProblem: Sendable {
        /// The line in the source, counted from 1; `nil` when it isn't known.
        public var line: Int?
        public var message: String

        public init(line: Int? = nil, message: String) {
            self.line = line
            self.message = message
        }
    }

    /// The result of reading an app: the definition as far as it could be read, and all problems.
    public struct Inspection: Sendable {
        public let definition: AppDefinition
        /// Sorted by file and line.
        public let problems: [DefinitionProblem]
        /// Whether no problem is an error.
        public var isDeployable: Bool { !problems.contains { $0.severity == .error } }
    }

    /// Reads an app and reports all problems. Doesn't throw.
    public static func inspect(_ files: AppFiles, syntaxCheck: SyntaxCheck? = nil) -> Inspection {
        let log = ProblemLog(files: files)
        for problem in files.problems { log.add(problem) }
        var definition = DefinitionReader(files: files, log: log).read()
        let read = log.read
        DefinitionCheck(log: log, syntaxCheck: syntaxCheck).check(&definition)
        UnservedFeatures(definition, log: log).report()
        UnreadFiles(definition: definition, log: log, read: read).report()
        log.noteUnread()
        return Inspection(definition: definition, problems: log.sorted)
    }
}

extension AppDefinition {
    /// The function of this name, or `nil`.
    public func function(_ name: String) -> FunctionDefinition? { functions.first { $0.name.hasSameBytes(as: name) } }

    /// The provider of this name (`local-userpass`), or `nil`; a disabled one is returned too.
    public func authProvider(_ name: String) -> AuthProvider? { authProviders.first { $0.name.hasSameBytes(as: name) } }

    /// The collection of this name in this database, or `nil`.
    public func collection(_ name: String, database: String) -> CollectionDefinition? {
        collections.first { $0.name.hasSameBytes(as: name) && $0.database.hasSameBytes(as: database) }
    }

    /// The trigger of this name, or `nil`.
    public func trigger(_ name: String) -> TriggerDefinition? { triggers.first { $0.name.hasSameBytes(as: name) } }

    /// The value of this name in the form that functions see; `nil` when there is none, or its secret isn't set.
    public func value(_ name: String) -> Value? {
        guard let value = values.first(where: { $0.name.hasSameBytes(as: name) }) else { return nil }
        guard value.isFromSecret else { return value.value }
        return value.value.stringValue.flatMap { secrets[$0] }.map { .string($0) }
    }

    /// The names of the secrets that the app's sign-in providers, values and services need.
    public var secretNames: [String] { secretUses.map(\.name) }

    /// The secrets that the app needs, sorted by name, with what needs each: `value apiKey`, `sign-in with custom-token`.
    public var secretUses: [(name: String, uses: [String])] {
        var uses: [ExactText: [String]] = [:]
        func add(_ document: Document, _ use: String) {
            for value in document.fields.flatMap({ $0.value.arrayValue ?? [$0.value] }) {
                guard let name = value.stringValue, !name.isEmpty else { continue }
                uses[name, default: []].append(use)
            }
        }
        for provider in authProviders where !provider.isDisabled {
            add(provider.secretConfig, "sign-in with \(provider.name)")
        }
        for source in dataSources { add(source.secretConfig, "service \(source.name)") }
        for value in values where value.isFromSecret { add(["": value.value], "value \(value.name)") }
        for endpoint in httpEndpoints where !endpoint.isDisabled {
            guard let name = endpoint.validation.secretName else { continue }
            add(["": .string(name)], "endpoint \(endpoint.method) \(endpoint.route)")
        }
        for webhook in webhooks where !webhook.endpoint.isDisabled {
            guard let name = webhook.endpoint.validation.secretName else { continue }
            add(["": .string(name)], "webhook \(webhook.service)/\(webhook.name)")
        }
        return uses.sorted { $0.key < $1.key }.map { ($0.key.text, $0.value) }
    }

    /// The values of the app's own environment.
    public var environmentValues: Document {
        environments[environmentTag.isEmpty ? "no-environment" : environmentTag] ?? Document()
    }
}
