public import DocumentModel

/// The data rules of one collection: what a user may do with each of its documents.
///
/// The first role whose `apply_when` holds for a document applies to that document; if none does, the document is inaccessible. A
/// collection with roles of its own doesn't use the data source's default roles.
public struct DocumentRules: Sendable {
    /// The collection that the rules belong to.
    public let namespace: ChangeEvent.Namespace
    let roles: [DocumentRole]
    let filters: [RuleFilter]

    /// `nil` if the app has no rules for the collection: then only the system may access it.
    ///
    /// - Parameter service: the data source that the call names, whose rules apply; a collection of another cluster has none for it.
    ///   Without it those of the first data source that declares the collection.
    public init?(of namespace: ChangeEvent.Namespace, in app: AppDefinition, service: String? = nil) {
        if let service, app.serviceBeyondReach(of: service, for: namespace) != nil { return nil }
        let definition =
            service.map { app.collection(namespace.collection, database: namespace.database, service: $0) }
            ?? app.collection(namespace.collection, database: namespace.database)
        let source =
            app.dataSources.first { source in
                (service ?? definition?.service).map { source.name.hasSameBytes(as: $0) } ?? false
            } ?? app.dataSources.first { $0.isDocumentStore }
        let own = definition?.rules
        let roles = own.flatMap { $0.roles.isEmpty ? nil : $0.roles } ?? source?.defaultRules?.roles ?? []
        guard !roles.isEmpty else { return nil }
        self.namespace = namespace
        self.roles = roles
        filters =
            own.flatMap { $0.roles.isEmpty && $0.filters.isEmpty ? nil : $0.filters }
            ?? source?.defaultRules?.filters ?? []
    }

    /// The first role that applies to a document.
    func role(for context: RuleContext, asking request: RuleRequest) async throws -> AppliedRole? {
        for role in roles where try await request.holds(role.applyWhen, in: context) {
            return AppliedRole(role: role, context: context, request: request)
        }
        return nil
    }
}

/// The request for which rules are evaluated, and how the functions in them are called.
public struct RuleRequest: Sendable {
    /// The user, the request and the app's values. `DocumentRules` adds the documents.
    public var context: RuleContext
    /// Calls a function that a rule names. Evaluating the rule rethrows its errors.
    public var callFunction: RuleExpression.FunctionCall

    public init(context: RuleContext, callFunction: @escaping RuleExpression.FunctionCall) {
        self.context = context
        self.callFunction = callFunction
    }

    func holds(_ expression: RuleExpression, in context: RuleContext) async throws -> Bool {
        try await expression.evaluate(context, callFunction: callFunction)
    }

    /// The context with the document after (`root`) and before a write.
    func context(root: Document?, previous: Document?) -> RuleContext {
        var context = context
        context.root = root
        context.previousRoot = previous
        return context
    }
}

/// Why the rules refuse a call.
public struct RuleRefusal: Error, Hashable, Sendable, CustomStringConvertible {
    /// The name of the error for clients.
    public static let code = "NoMatchingRuleFound"
    /// The message for people. It may name roles and fields, but contains no values of documents.
    public let message: String

    init(_ message: String) { self.message = message }

    /// The app has no rules for the collection.
    public static func noRules(for namespace: ChangeEvent.Namespace) -> RuleRefusal {
        RuleRefusal("no rule exists for namespace '\(namespace.database).\(namespace.collection)'")
    }

    /// The value that a write would replace isn't wholly readable.
    public static func hidden(_ path: String) -> RuleRefusal {
        RuleRefusal("update not permitted: '\(path)' may not be read")
    }

    /// A stage that only the system may run.
    public static func systemOnly(_ stage: String) -> RuleRefusal {
        RuleRefusal("\(stage) is not permitted: only the system may run it")
    }

    public var description: String { "\(Self.code): \(message)" }
}
