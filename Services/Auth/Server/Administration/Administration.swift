public import AppDeployment
import AppRegistry
public import DocumentModel
import DocumentStore
public import EventLoop
public import EventStream
import EventTopics
public import Postgres
public import Secrets
public import ServiceEngines

/// What administrators do: for the tool on Postgres, and for the administration API. Rights are the caller's business.
public struct Administration: Sendable {
    let client: PostgresClient
    let keys: KeyRing
    let clock: WallClock
    private let wakeOutbox: @Sendable () -> Void
    let recording: @Sendable (PostgresTransaction) async throws -> Void
    let registry: AppRegistry
    public let deployments: AppDeployments

    /// - Parameters:
    ///   - keys: with which secrets are encrypted.
    ///   - recording: writes a record of an act, in its transaction.
    ///   - operator, hosting, publish: as in `AppDeployments`.
    public init(
        client: PostgresClient, keys: KeyRing, loop: EventLoop, operator: String, hosting: HostingAddress? = nil,
        clock: WallClock = .system,
        wakeOutbox: @escaping @Sendable () -> Void = {},
        recording: @escaping @Sendable (PostgresTransaction) async throws -> Void = { _ in },
        publish: @escaping @Sendable (_ send: @Sendable (EventProducer) async throws -> Void) async throws -> Void
    ) {
        self.client = client
        self.keys = keys
        self.clock = clock
        self.wakeOutbox = wakeOutbox
        self.recording = recording
        registry = AppRegistry(client: client, keys: keys, recording: recording)
        deployments = AppDeployments(
            client: client, registry: registry, loop: loop, operator: `operator`, hosting: hosting,
            publish: publish)
    }

    /// Does what a call asks for.
    ///
    /// - Throws: `AuthError`, `DeploymentError`, `AppRegistryError`, `AppDefinitionError`: the call is refused.
    public func perform(_ call: AdminCall) async throws -> AdminAnswer {
        switch call.action {
        case .listApps, .showApp, .deploy, .history, .diff, .rollBack, .export, .remove, .check, .explain:
            try await performOnApp(call)
        case .listUsers, .showUser, .exportUser, .deleteUser, .disableUser, .enableUser, .listSessions, .endSessions,
            .endSession:
            try await performOnUsers(call)
        case .listSecrets, .setSecret, .removeSecret: try await performOnSecrets(call)
        case .listTriggers, .pauseTrigger, .resumeTrigger: try await performOnTriggers(call)
        case .listDeadLetters, .showDeadLetter, .replayDeadLetter, .discardDeadLetter:
            try await performOnDeadLetters(call)
        case .readLogs: try await readLogs(call)
        case .readDocuments, .writeDocuments: try await performOnDocuments(call)
        case .listIndexes, .createIndex, .dropIndex: try await performOnIndexes(call)
        case .showPartition, .serveAnew: try await performOnPartitions(call)
        case .listServerKeys, .makeServerKey, .disableServerKey, .enableServerKey, .deleteServerKey:
            try await performOnServerKeys(call)
        case .readAudit: try await readAudit(call)
        }
    }

    // MARK: Users

    /// The rows of a page of a list, at most.
    public static let pageLimit: Int64 = 500

    private var accounts: Accounts {
        Accounts(store: AccountStore(client: client, recording: recording), wakeOutbox: wakeOutbox, clock: clock)
    }

    private func performOnUsers(_ call: AdminCall) async throws -> AdminAnswer {
        try await deployments.deployedVersion(of: call.app)
        let users = AccountAdministration(accounts: accounts, app: call.app)
        if call.action == .listUsers {
            let limit = try call.number("limit", in: 1...Self.pageLimit) ?? 50
            let page = try await users.list(after: call.text("after") ?? "", limit: Int(limit))
            return AdminAnswer(["users": .array(page.map(Value.document))])
        }
        let name = call.parameter("user") ?? ""
        guard let id = try await users.id(of: name) else {
            throw AuthError(.userNotFound, "no user has the id or the e-mail address \(name)")
        }
        switch call.action {
        case .showUser: return AdminAnswer(try await users.user(id))
        case .exportUser: return AdminAnswer(try await users.export(id))
        case .listSessions:
            return AdminAnswer(["sessions": .array(try await users.sessions(ofUser: id).map(Value.document))])
        case .deleteUser: try await users.delete(id)
        case .endSessions: try await users.endSessions(ofUser: id)
        case .endSession: try await users.endSession(call.parameter("session") ?? "", ofUser: id)
        default: try await users.setDisabled(call.action == .disableUser, id)
        }
        return AdminAnswer()
    }

    private func performOnServerKeys(_ call: AdminCall) async throws -> AdminAnswer {
        try await deployments.deployedVersion(of: call.app)
        let keys = ServerKeys(accounts: accounts, app: call.app)
        let name = call.parameter("key") ?? ""
        switch call.action {
        case .makeServerKey: return AdminAnswer(["key": .string(try await keys.make(named: name))])
        case .disableServerKey: try await keys.setDisabled(true, named: name)
        case .enableServerKey: try await keys.setDisabled(false, named: name)
        case .deleteServerKey: try await keys.delete(named: name)
        default: return AdminAnswer(["keys": .array(try await keys.list().map(Value.document))])
        }
        return AdminAnswer()
    }

    // MARK: Audit log

    private func readAudit(_ call: AdminCall) async throws -> AdminAnswer {
        let since = try call.text("since").map { text throws(AuthError) in
            guard let time = ISODate.milliseconds(text) else {
                throw AuthError(.invalidParameter, "since is a time such as 2026-01-31T12:00:00Z, not \(text)")
            }
            return time
        }
        let rows = try await AccountTables(sql: client).audit(
            app: call.text("app"), since: since ?? .min,
            after: try call.number("after", in: 0...Int64.max) ?? 0,
            limit: Int(try call.number("limit", in: 1...Self.pageLimit) ?? 50))
        return AdminAnswer([
            "records": .array(
                rows.map { row in
                    var record: Document = ["number": .int64(row.number), "id": .string(row.event.id)]
                    record.fields += row.event.encoded().fields
                    return .document(record)
                })
        ])
    }
}
