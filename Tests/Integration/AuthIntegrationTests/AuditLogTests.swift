import DocumentModel
import EventLoop
import EventTopics
import Logging
import TestSupport
import Testing

@testable import Auth

/// The audit log as a table: its order, its pages and its age.
@Suite(.serialized) struct AuditLogTests {
    /// - Parameter time: Now, if it doesn't matter: old records are deleted by the service, and by other tests.
    private func record(
        _ token: String, outcome: String = "done", time: Int64 = WallClock.system.now()
    ) -> AuditEvent {
        AuditEvent(
            id: ObjectId().hexString, app: "*", token: token, tokenName: "of a test", role: "deploy",
            action: "app.list", outcome: outcome, address: "127.0.0.1", time: time)
    }

    @Test func `a reader of pages misses no record that is written meanwhile`() async throws {
        let store = AccountStore(client: try await AuthFixture.shared().postgres)
        let token = ObjectId().hexString
        let start = try await store.tables.audit(app: nil, since: .min, after: 0, limit: 1_000_000).last?.number ?? 0
        let (writers, each) = (8, 15)
        let isWritten = Locked(false)
        async let reading = {
            var seen: [String] = []
            var last = start
            while true {
                // What is written before this page is read is on it, or on an earlier one.
                let isLast = isWritten.withLock { $0 }
                let page = try await store.tables.audit(app: nil, since: .min, after: last, limit: 7)
                seen += page.filter { $0.event.token == token }.map(\.event.id)
                last = page.last?.number ?? last
                if isLast, page.isEmpty { return seen }
                // Others use these connections, too.
                try await Task.sleep(for: .milliseconds(1))
            }
        }()
        try await withThrowingTaskGroup(of: Void.self) { group in
            for writer in 0..<writers {
                group.addTask {
                    for number in 0..<each {
                        try await store.transaction { tables in
                            try await tables.append(record(token))
                            // The act's transaction ends some time later, so that another one's may end in between.
                            try await Task.sleep(for: .milliseconds((writer + number * 5) % 7))
                        }
                    }
                }
            }
            try await group.waitForAll()
        }
        isWritten.withLock { $0 = true }
        let seen = try await reading
        #expect(seen.count == writers * each && Set(seen).count == seen.count)
    }

    @Test func `old records are deleted once they are published`() async throws {
        let fixture = try await AuthFixture.shared()
        let store = AccountStore(client: fixture.postgres)
        let token = ObjectId().hexString
        let now = WallClock.system.now()
        let day: Int64 = 86_400_000
        for (outcome, age) in [("old", 11 * day), ("waiting", 11 * day), ("young", 9 * day)] {
            try await store.tables.append(record(token, outcome: outcome, time: now - age))
        }
        // Else the service's own outbox might publish the one that waits.
        try await fixture.postgres.execute(
            "update partita.auth_audit set is_published = outcome <> 'waiting' where token = $1", [.text(token)])
        let cleaner = AccountCleaner(
            store: store, clock: .system, auditRetention: .seconds(10 * 86_400), logger: Logger(label: "test"))
        try await cleaner.clean()
        let left = try await fixture.postgres.query(
            "select outcome from partita.auth_audit where token = $1 order by number", [.text(token)]
        ).decode(String.self)
        #expect(left.contains("young") && !left.contains("old"), "\(left)")
        try await eventually("the last one is published") {
            try await cleaner.clean()
            let left = try await fixture.postgres.query(
                "select outcome from partita.auth_audit where token = $1", [.text(token)]
            ).decode(String.self)
            return left == ["young"]
        }
    }

    @Test func `an API that is off refuses every call`() async throws {
        let fixture = try await AuthFixture.shared()
        var values = AuthFixture.values(
            fixture.engines, database: fixture.database, pool: fixture.pool, mailFolder: fixture.mailFolder)
        values["admin.api"] = "false"
        let off = try await HostedAuth(values, functions: TestFunctions.caller)
        let app = AppClient(port: off.port, app: try await fixture.app().app)
        let token = try await AdminTokens(client: fixture.postgres).make(
            named: "of a test", roles: Set(AdminRole.allCases), app: nil, days: nil)
        for action in AdminAction.allCases {
            let call = AdminCall(
                action,
                [
                    "app": app.app, "user": "nobody", "session": "none", "secret": "key", "trigger": "none",
                    "number": "1", "database": "shop", "collection": "Order", "index": "none", "key": "none",
                    "method": "find",
                ])
            let method = try #require(AppClient.Method(rawValue: action.route.method.rawValue))
            for token in [token, nil] {
                let answer = try await app.sendText(method, call.target, nil, token: token)
                #expect(answer.status == 404 && answer.code == "AdminAPIOff", "\(action): \(answer.json)")
            }
        }
        let records = try await fixture.postgres.query(
            "select action from partita.auth_audit where token = $1 and outcome = 'AdminAPIOff' order by number",
            [.text(String(token.split(separator: "_")[1]))]
        ).decode(String.self)
        #expect(records == AdminAction.allCases.map(\.rawValue))
    }
}
