import DocumentModel
import EventLoop
import EventTopics
import HTTPServer
import Logging
import Postgres

/// The administration API. Every call of a known token is in the audit log: what changes something, in the transaction of the change. Of
/// requests that reach no action, and of tokens that are over, there are at most so many records (``AuditBudget``); the others are counted,
/// and so is what comes without a token that exists.
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
    let metrics: AuthMetrics
    let logger: Logger
    private let budget: AuditBudget
    private let longCalls = LongCalls()

    /// Texts of the caller in a record are cut off after so many bytes.
    private static let textLimit = 200
    /// In records, the action of a request that is none.
    private static let noAction = "none"
    /// The outcome in the record after which a minute's refusals of a token are only counted.
    private static let budgetSpent = "TooManyRecords"

    init(
        access: AdminAccess, store: AccountStore, clock: WallClock, isOn: Bool,
        administration:
            @escaping @Sendable (
                String, EventLoop, @escaping @Sendable (PostgresTransaction) async throws -> Void
            ) -> Administration,
        wakeOutbox: @escaping @Sendable () -> Void, budget: AuditBudget, metrics: AuthMetrics, logger: Logger
    ) {
        self.access = access
        self.store = store
        self.clock = clock
        self.isOn = isOn
        self.administration = administration
        self.wakeOutbox = wakeOutbox
        self.metrics = metrics
        self.logger = logger
        self.budget = budget
    }

    /// Adds the routes of all actions.
    func add(to router: inout HTTPRouter) {
        for action in AdminAction.allCases {
            let (method, template) = action.route
            router.on(method, template, bodyLimit: action.bodyLimit) { try await respond(to: $0, action) }
        }
        router.observeRefusals(under: "/api/admin") { await noteRefused($0, $1) }
    }

    private func respond(to request: HTTPRequest, _ action: AdminAction) async throws -> HTTPResponse {
        guard isOn else {
            let error = AuthError(.adminAPIOff, "the administration API is off (admin.api)")
            await noteRefused(request, error.httpError)
            throw error
        }
        let caller: AdminCaller
        do { caller = try await access.caller(of: request) } catch {
            metrics.unrecorded["token"].increment()
            throw error
        }
        var call = AdminCall(action, request)
        let app = action == .readAudit ? call.text("app") : call.parameter("app")
        var record = record(of: request, by: caller, action, call)
        do {
            try caller.require(action, app: app)
            if action == .readAudit, caller.isForOneApp, app == nil { call.add("app", caller.app) }
            let done = record
            let administration = administration("\(caller.name)@\(request.remoteAddress.ip)", request.loop) {
                try await AccountTables(sql: $0).append(done)
            }
            var answer = try await perform(call, of: caller, with: administration)
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
            if caller.state == .active { await note(record) } else { await noteWithinBudget(record) }
            guard var refusal else { throw error }
            // The message may name the other apps.
            if caller.isForOneApp, refusal.code == AuthError.Code.appNotFound.rawValue {
                refusal.message = "no app \(caller.app) is deployed"
            }
            throw refusal
        }
    }

    private func perform(
        _ call: AdminCall, of caller: AdminCaller, with administration: Administration
    ) async throws -> AdminAnswer {
        try await longCalls.run(call.action.load, of: caller) { try await administration.perform(call) }
    }

    private func record(
        of request: HTTPRequest, by caller: AdminCaller, _ action: AdminAction?, _ call: AdminCall?
    ) -> AuditEvent {
        let app = action == .readAudit ? call?.text("app") : request.parameters["app"]
        let target = call.map(\.subject) ?? "\(request.method.rawValue) \(request.path)"
        return AuditEvent(
            id: ObjectId().hexString, app: (app ?? "*").shortened(to: Self.textLimit), token: caller.tokenId,
            tokenName: caller.name, role: caller.role(for: action), action: action?.rawValue ?? Self.noAction,
            target: target?.shortened(to: Self.textLimit), outcome: "done", address: request.remoteAddress.ip,
            time: clock.now())
    }

    /// Records a request that reached no action.
    private func noteRefused(_ request: HTTPRequest, _ error: HTTPError) async {
        let caller: AdminCaller
        do { caller = try await access.caller(of: request) } catch {
            metrics.unrecorded[error is AuthError ? "token" : "failure"].increment()
            return
        }
        let action = AdminAction.allCases.first {
            $0.route.method == request.method && $0.route.template == request.route
        }
        var record = record(of: request, by: caller, action, action.map { AdminCall($0, request) })
        record.outcome = error.code
        await noteWithinBudget(record)
    }

    private func noteWithinBudget(_ record: AuditEvent) async {
        var record = record
        switch await verdict(on: record) {
        case .write: await note(record)
        case .writeLast:
            (record.action, record.target, record.outcome) = (Self.noAction, nil, Self.budgetSpent)
            metrics.unrecorded["budget"].increment()
            await note(record)
        case .count: metrics.unrecorded["budget"].increment()
        }
    }

    /// Counts a record, also when the caller has left.
    private func verdict(on record: AuditEvent) async -> AuditBudget.Verdict {
        let counted = await Task { try await budget.spend(record.token) }.result
        switch counted {
        case .success(let verdict): return verdict
        case .failure(let error):
            logger.error("a record wasn't counted", metadata: ["token": "\(record.token)", "error": "\(error)"])
            return .write
        }
    }

    /// Writes the record of a call that was refused, also when the caller has left.
    private func note(_ record: AuditEvent) async {
        let written = await Task { try await store.tables.append(record) }.result
        wakeOutbox()
        if case .failure(let error) = written {
            metrics.unrecorded["failure"].increment()
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
