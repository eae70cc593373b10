import AppDeployment
import DocumentModel
import EventLoop
import EventTopics
import HTTPServer
import Logging
import Postgres

/// The administration API. Every call of a known token is in the audit log: what changes something, in the transaction of the change.
struct AdminRoutes: Sendable {
    let access: AdminAccess
    let store: AccountStore
    let clock: WallClock
    let isOn: Bool
    /// What the caller of a name does; the argument writes the record of an act, in its transaction.
    let administration:
        @Sendable (
            _ operator: String, _ loop: EventLoop,
            _ recording: @escaping @Sendable (PostgresTransaction) async throws -> Void
        ) -> Administration
    /// Has waiting records published soon.
    let wakeOutbox: @Sendable () -> Void
    let logger: Logger
    private let longCalls = Locked(0)

    /// Long calls at a time: users who sign in need the connections to Postgres, and the memory.
    private static let longCallLimit = 2
    /// Texts of the caller in a record are cut off after so many bytes.
    private static let textLimit = 200

    init(
        access: AdminAccess, store: AccountStore, clock: WallClock, isOn: Bool,
        administration:
            @escaping @Sendable (
                String, EventLoop, @escaping @Sendable (PostgresTransaction) async throws -> Void
            ) -> Administration,
        wakeOutbox: @escaping @Sendable () -> Void, logger: Logger
    ) {
        self.access = access
        self.store = store
        self.clock = clock
        self.isOn = isOn
        self.administration = administration
        self.wakeOutbox = wakeOutbox
        self.logger = logger
    }

    /// Adds the routes of all actions.
    func add(to router: inout HTTPRouter) {
        for action in AdminAction.allCases {
            let (method, template) = action.route
            router.on(
                method, template, bodyLimit: action.takesArchive ? AppSource.archiveLimit : RouteSupport.bodyLimit
            ) { try await respond(to: $0, action) }
        }
    }

    private func respond(to request: HTTPRequest, _ action: AdminAction) async throws -> HTTPResponse {
        guard isOn else { throw AuthError(.adminAPIOff, "the administration API is off (admin.api)") }
        let caller = try await access.caller(of: request)
        var call = AdminCall(action, request)
        let app = action == .readAudit ? call.text("app") : call.parameter("app")
        var record = AuditEvent(
            id: ObjectId().hexString, app: (app ?? "*").shortened(to: Self.textLimit), token: caller.tokenId,
            tokenName: caller.name, role: caller.role(for: action), action: action.rawValue,
            target: call.subject?.shortened(to: Self.textLimit), outcome: "done", address: request.remoteAddress.ip,
            time: clock.now())
        do {
            try caller.require(action, app: app)
            if action == .readAudit, caller.isForOneApp, app == nil { call.add("app", caller.app) }
            let done = record
            let administration = administration("\(caller.name)@\(request.remoteAddress.ip)", request.loop) {
                try await AccountTables(sql: $0).append(done)
            }
            var answer = try await perform(call, with: administration)
            if action == .listApps, caller.isForOneApp { answer.keepApp(caller.app) }
            // Unless it was written with the act.
            try await store.tables.append(record)
            wakeOutbox()
            return Self.response(answer)
        } catch {
            let refusal = AdminRefusal.answer(to: error)
            record.id = ObjectId().hexString
            let other = error is CancellationError ? "ClientClosedRequest" : "InternalServerError"
            record.outcome = refusal?.code ?? other
            await note(record)
            guard var refusal else { throw error }
            // The message may name the other apps.
            if caller.isForOneApp, refusal.code == AuthError.Code.appNotFound.rawValue {
                refusal.message = "no app \(caller.app) is deployed"
            }
            throw refusal
        }
    }

    private func perform(_ call: AdminCall, with administration: Administration) async throws -> AdminAnswer {
        guard call.action.isLong else { return try await administration.perform(call) }
        let isFree = longCalls.withLock { count in
            guard count < Self.longCallLimit else { return false }
            count += 1
            return true
        }
        guard isFree else {
            throw AuthError(
                .serviceUnavailable,
                "\(Self.longCallLimit) long calls are running (deployments, comparisons, checks); try again later",
                retryAfter: 5)
        }
        defer { longCalls.withLock { $0 -= 1 } }
        return try await administration.perform(call)
    }

    /// Writes the record of a call that was refused, also when the caller has left.
    private func note(_ record: AuditEvent) async {
        let written = await Task { try await store.tables.append(record) }.result
        wakeOutbox()
        if case .failure(let error) = written {
            logger.error(
                "a refused call isn't in the audit log",
                metadata: ["action": "\(record.action)", "token": "\(record.token)", "error": "\(error)"])
        }
    }

    private static func response(_ answer: AdminAnswer) -> HTTPResponse {
        guard let archive = answer.archive else { return answer.document.map { RouteSupport.json($0) } ?? .noContent }
        let about = ExtendedJSON.print(answer.document ?? Document(), mode: .relaxed)
        return HTTPResponse(
            headers: [
                "Content-Type": "application/x-tar", "Cache-Control": "no-store",
                "Partita-Export": PercentEncoding.encode(about),
            ], body: archive)
    }
}

extension AdminAnswer {
    /// Leaves only one app in the list of apps.
    fileprivate mutating func keepApp(_ app: String) {
        let apps = document?["apps"]?.arrayValue ?? []
        document?["apps"] = .array(apps.filter { $0["app"]?.stringValue?.hasSameBytes(as: app) == true })
    }
}
