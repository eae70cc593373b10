import Auth
import DocumentModel

/// `partita users import FILE`.
enum UsersImportCommand {
    static let command = Command(
        name: "users import",
        summary: "Import users as the Admin API of App Services lists them; run again, it continues",
        parameters: ["FILE"], options: [Command.appOption, LocalConfiguration.option]
    ) { arguments in
        let path = try arguments.required("FILE")
        let file = try UserListFile(path)
        try await Tool.run(try LocalConfiguration(arguments: arguments)) { tool in
            let app = try await tool.app(arguments.app)
            try await AccountAdministration.migrate(tool.postgres)
            var run = ImportRun(
                path: path, file: file, users: AccountImport(client: tool.postgres, app: app.id),
                providers: Set(
                    texts: app.definition.authProviders.filter { !$0.isDisabled }.flatMap { [$0.name, $0.type] }))
            try await run.all()
        }
    }

    /// How many users are added in one transaction.
    fileprivate static let batch = 500
}

private struct ImportRun {
    let path: String
    var file: UserListFile
    let users: AccountImport
    private var added = 0
    private var known = 0
    private var refused = 0
    private var waiting: [(place: String, user: ImportedUser)] = []
    /// How many objects were read.
    private var count = 0
    /// The providers with which users of the app sign in.
    private let providers: Set<ExactText>
    /// The providers of identities that aren't the app's, with the line of the first such user, and the number of identities.
    private var absent: [ExactText: (line: Int, count: Int)] = [:]
    /// The users of the list so far.
    private var seen: Set<ObjectId> = []

    init(path: String, file: UserListFile, users: AccountImport, providers: Set<ExactText>) {
        self.path = path
        self.file = file
        self.users = users
        self.providers = providers
    }

    mutating func all() async throws {
        while let entry = try file.entry() {
            count += 1
            // A list may be on one line.
            var place = "\(path):\(entry.line): object \(count)"
            if let problem = entry.problem {
                refuse(place, problem)
                continue
            }
            do {
                let document = try ExtendedJSON.parseDocument(entry.text, limits: .input)
                if let id = ImportedUser.id(of: document) { place += ", _id \(id)" }
                let user = try ImportedUser(document, now: WallClock.system.now())
                guard ObjectId(hexString: user.id).map({ seen.insert($0).inserted }) ?? true else {
                    refuse(
                        place, "the list has a user with this _id already: make one of them, with all identities")
                    continue
                }
                for provider in user.providers where !providers.contains(provider) {
                    absent[provider, default: (entry.line, 0)].count += 1
                }
                waiting.append((place, user))
            } catch {
                refuse(place, "\(error)")
            }
            if waiting.count >= UsersImportCommand.batch { try await add() }
        }
        try await add()
        for (provider, found) in absent.sorted(by: { $0.key < $1.key }) {
            Progress.line(
                "\(path):\(found.line): nobody can sign in with \(provider.text), which the app doesn't have or has disabled; \(found.count) identities are of it"
            )
        }
        Output.line("\(added) users added, \(known) were there already, \(refused) refused")
        guard refused == 0 else { throw ToolError("not every user of \(path) was imported") }
    }

    private mutating func add() async throws {
        guard !waiting.isEmpty else { return }
        let outcomes = try await users.add(waiting.map(\.user))
        for (entry, outcome) in zip(waiting, outcomes) {
            switch outcome {
            case .added: added += 1
            case .known: known += 1
            case .refused(let reason): refuse(entry.place, reason)
            }
        }
        waiting = []
        if (added + known) % 10_000 < UsersImportCommand.batch {
            Progress.line("\(added + known + refused) users read")
        }
    }

    private mutating func refuse(_ place: String, _ reason: String) {
        refused += 1
        Progress.line("\(place): \(reason)")
    }
}
