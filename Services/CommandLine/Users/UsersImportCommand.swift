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
            let app = try await tool.app(arguments.app).id
            try await AccountAdministration.migrate(tool.postgres)
            var run = ImportRun(path: path, file: file, users: AccountImport(client: tool.postgres, app: app))
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
    private var waiting: [(line: Int, user: ImportedUser)] = []

    init(path: String, file: UserListFile, users: AccountImport) {
        self.path = path
        self.file = file
        self.users = users
    }

    mutating func all() async throws {
        while let entry = try file.entry() {
            do {
                let document = try ExtendedJSON.parseDocument(entry.text, limits: .input)
                waiting.append((entry.line, try ImportedUser(document, now: WallClock.system.now())))
            } catch {
                refuse(entry.line, "\(error)")
            }
            if waiting.count >= UsersImportCommand.batch { try await add() }
        }
        try await add()
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
            case .refused(let reason): refuse(entry.line, reason)
            }
        }
        waiting = []
        if (added + known) % 10_000 < UsersImportCommand.batch {
            Progress.line("\(added + known + refused) users read")
        }
    }

    private mutating func refuse(_ line: Int, _ reason: String) {
        refused += 1
        Progress.line("\(path):\(line): \(reason)")
    }
}
