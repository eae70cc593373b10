import DocumentModel
import EventStream
import EventTopics
import Foundation
import HTTPServer
import ServiceBootstrap
import TestSupport
import Testing

@testable import Auth

/// Who may call what of the administration API, and what the audit log says about it.
@Suite(.serialized) struct AdminAccessTests {
    private func tokens() async throws -> AdminTokens {
        AdminTokens(client: try await AuthFixture.shared().postgres)
    }

    private func token(_ roles: AdminRole..., app: String? = nil, days: Int? = nil) async throws -> String {
        try await tokens().make(named: "of a test", roles: Set(roles), app: app, days: days)
    }

    @Test func `a configured token is long, and none that can be revoked`() async throws {
        func problem(_ text: String) -> String? {
            do {
                let keys = AuthServer.main.allKeys.filter { $0.name == "admin.token" }
                _ = try Configuration(keys: keys, fileValues: ["admin.token": text])
                return nil
            } catch {
                return "\(error)"
            }
        }
        #expect(problem("123456789012345")?.contains("at least 16 bytes") == true)
        #expect(problem("1234567890123456") == nil)
        #expect(problem("") == nil)
        #expect(problem(" 1234567890123456")?.contains("spaces") == true)
        let stored = try await token(.readOnly)
        #expect(problem(stored)?.contains("partita admin-tokens create") == true)
        #expect(problem(stored)?.contains(stored) == false)
    }

    private func id(_ token: String) -> String { String(token.split(separator: "_")[1]) }

    private func call(
        _ action: AdminAction, _ app: AppClient, token: String?, query: KeyValuePairs<String, String?> = [:],
        body: String? = nil, from address: String? = nil
    ) async throws -> AppClient.Answer {
        let call = AdminCall(
            action,
            [
                "app": app.app, "user": "nobody", "session": "none", "secret": "key", "trigger": "none", "number": "1",
                "database": "shop", "collection": "Order", "index": "none", "key": "none",
                "method": action == .writeDocuments ? "deleteOne" : "find",
            ], query: query)
        return try await app.sendText(
            try #require(AppClient.Method(rawValue: action.route.method.rawValue)), call.target, body, token: token,
            headers: address.map { ["X-Forwarded-For": $0] } ?? [:])
    }

    /// What the audit log has of a token, in order.
    private func records(of token: String) async throws -> [(action: String, role: String, outcome: String)] {
        let rows = try await AuthFixture.shared().postgres.query(
            "select action, role, outcome from partita.auth_audit where token = $1 order by number",
            [.text(id(token))])
        return try rows.decode((String, String, String).self).map { ($0, $1, $2) }
    }

    @Test(arguments: AdminRole.allCases)
    func `a role admits to its own actions, and to no others`(role: AdminRole) async throws {
        let app = try await AuthFixture.shared().app()
        let token = try await token(role)
        // Written out, so that a change of the table in the code is noticed.
        let allowed: Set<AdminAction> =
            switch role {
            case .deploy:
                [
                    .listApps, .showApp, .deploy, .history, .diff, .rollBack, .export, .remove, .check, .readLogs,
                    .readDocuments, .writeDocuments, .listIndexes, .createIndex, .dropIndex, .showPartition,
                    .serveAnew, .listServerKeys, .makeServerKey, .disableServerKey, .enableServerKey,
                    .deleteServerKey,
                ]
            case .users:
                [
                    .listApps, .explain, .listUsers, .showUser, .exportUser, .deleteUser, .disableUser, .enableUser,
                    .listSessions, .endSessions, .endSession, .showPartition, .listServerKeys, .disableServerKey,
                    .enableServerKey, .deleteServerKey,
                ]
            case .secrets: [.listApps, .listSecrets, .setSecret, .removeSecret]
            case .triggers:
                [
                    .listApps, .listTriggers, .pauseTrigger, .resumeTrigger, .listDeadLetters, .showDeadLetter,
                    .replayDeadLetter, .discardDeadLetter, .readLogs,
                ]
            case .readOnly:
                [
                    .listApps, .showApp, .history, .diff, .export, .check, .explain, .listUsers, .showUser,
                    .listSessions, .listSecrets, .listTriggers, .listDeadLetters, .showDeadLetter, .readLogs,
                    .readDocuments, .listIndexes, .showPartition, .listServerKeys, .readAudit,
                ]
            }
        // The removal last, since the others need the app.
        let actions = AdminAction.allCases.filter { $0 != .remove } + [.remove]
        for action in actions {
            let answer = try await call(action, app, token: token)
            if allowed.contains(action) {
                #expect(answer.status != 401 && answer.status != 403, "\(role) \(action): \(answer.json)")
                #expect(answer.status < 500, "\(role) \(action): \(answer.json)")
            } else {
                #expect(answer.status == 403 && answer.code == "AdminRoleMissing", "\(role) \(action): \(answer.json)")
            }
            #expect(try await call(action, app, token: nil).code == "MissingAuthReq")
        }
        let records = try await records(of: token)
        #expect(records.map(\.action) == actions.map(\.rawValue))
        for (record, action) in zip(records, actions) {
            #expect(record.role == role.rawValue)
            #expect((record.outcome == "AdminRoleMissing") == !allowed.contains(action), "\(record)")
        }
    }

    @Test func `a token for one app reaches no other, and sees no other`() async throws {
        let fixture = try await AuthFixture.shared()
        let (app, other) = (try await fixture.app(), try await fixture.app())
        let token = try await token(.deploy, .users, .secrets, .triggers, .readOnly, app: app.app)
        for action in AdminAction.allCases where action != .listApps && action != .readAudit {
            let answer = try await call(action, other, token: token)
            #expect(answer.status == 403 && answer.code == "AdminAppForbidden", "\(action): \(answer.json)")
        }
        let apps = try await call(.listApps, app, token: token).json["apps"]?.arrayValue
        #expect(apps?.compactMap { $0["app"]?.stringValue } == [app.app])
        let audit = try await call(.readAudit, app, token: token, query: ["limit": "500"]).json["records"]?.arrayValue
        #expect(audit?.allSatisfy { $0["app"]?.stringValue == app.app } == true)
        #expect(try await call(.readAudit, app, token: token, query: ["app": other.app]).code == "AdminAppForbidden")
        #expect(try await fixture.registry.remove(app.app))
        let gone = try await call(.listUsers, app, token: token)
        #expect(gone.code == "AppNotFound" && !"\(gone.json)".contains(other.app))
    }

    @Test func `expired and revoked tokens are refused, and that is recorded`() async throws {
        let fixture = try await AuthFixture.shared()
        let app = try await fixture.app()
        let token = try await token(.readOnly, days: 1)
        #expect(try await call(.listApps, app, token: token).status == 200)
        try await fixture.postgres.execute(
            "update partita.auth_admin_tokens set expires_at = 1 where id = $1", [.text(id(token))])
        #expect(try await call(.listApps, app, token: token).code == "AdminTokenExpired")
        try await tokens().revoke(id(token))
        let revoked = try await call(.listApps, app, token: token)
        #expect(revoked.status == 401 && revoked.code == "AdminTokenRevoked")
        #expect(try await records(of: token).map(\.outcome) == ["done", "AdminTokenExpired", "AdminTokenRevoked"])
        await #expect(throws: AuthError.self) { try await tokens().revoke(id(token)) }
        #expect(try await tokens().list().first { $0["id"]?.stringValue == id(token) }?["state"] == "revoked")
        let stored = try await fixture.postgres.query("select secret_hash from partita.auth_admin_tokens").decode(
            [UInt8].self)
        let secret = Array(token.split(separator: "_")[2].utf8)
        #expect(!stored.isEmpty && !stored.contains(secret))
    }

    /// What the audit log has of calls from an address: action, app, target, outcome.
    private func records(from address: String) async throws -> [[String]] {
        let rows = try await AuthFixture.shared().postgres.query(
            """
            select action, app, coalesce(target, '-'), outcome from partita.auth_audit where address = $1
            order by number
            """, [.text(address)])
        return try rows.decode((String, String, String, String).self).map { [$0, $1, $2, $3] }
    }

    @Test func `a request that reaches no action is recorded if its token exists`() async throws {
        let app = try await AuthFixture.shared().app()
        let base = "/api/admin/v1/apps/\(app.app)"
        let large = #"{"value": "\#(String(repeating: "x", count: 70_000))"}"#
        let calls: [(AppClient.Method, String, String?, String)] = [
            (.get, base + "/nope", nil, "NotFound"), (.post, base + "/secrets/key", nil, "MethodNotAllowed"),
            (.get, "/api/admin/v1/apps/%ff/users", nil, "BadRequest"),
            (.get, base + "/users?limit=%ff", nil, "BadRequest"),
            (.put, base + "/secrets/key", large, "RequestEntityTooLarge"),
        ]
        let expired = try await token(.readOnly, days: 1)
        try await AuthFixture.shared().postgres.execute(
            "update partita.auth_admin_tokens set expires_at = 1 where id = $1", [.text(id(expired))])
        let tokens: [(token: String?, address: String)] = [
            (try await token(.secrets), "198.51.100.1"), (expired, "198.51.100.2"), (nil, "198.51.100.3"),
            ("partita_\(ObjectId().hexString)_x", "198.51.100.4"),
        ]
        for (token, address) in tokens {
            for (method, path, body, code) in calls {
                let answer = try await app.sendText(
                    method, path, body, token: token, headers: ["X-Forwarded-For": address])
                #expect(answer.code == code, "\(path): \(answer.json)")
            }
        }
        for (token, address) in tokens {
            let expected = token.map { $0 == expired || $0 == tokens[0].token } == true
            guard expected else {
                #expect(try await records(from: address).isEmpty)
                continue
            }
            let written = try await eventually("the calls are recorded") {
                let written = try await records(from: address)
                return written.count == calls.count ? written : nil
            }
            #expect(
                written == [
                    ["none", "*", "GET \(base)/nope", "NotFound"],
                    ["none", app.app, "POST \(base)/secrets/key", "MethodNotAllowed"],
                    ["none", "*", "GET /api/admin/v1/apps/%ff/users", "BadRequest"],
                    ["user.list", app.app, "-", "BadRequest"],
                    ["secret.set", app.app, "key", "RequestEntityTooLarge"],
                ])
        }
    }

    @Test func `a revoked token can't fill the log, by no number of processes`() async throws {
        let fixture = try await AuthFixture.shared()
        let app = try await fixture.app()
        let other = fixture.later(app)
        let token = try await token(.readOnly)
        try await tokens().revoke(id(token))
        for number in 0..<50 {
            #expect(try await call(.listApps, app, token: token).code == "AdminTokenRevoked")
            let answer = try await other.sendText(.get, "/api/admin/v1/nope/\(number)", nil, token: token)
            #expect(answer.code == "NotFound")
        }
        let outcomes = try await records(of: token).map(\.outcome)
        #expect(outcomes.count == Int(AuditBudget.limit) + 1 && outcomes.last == "TooManyRecords", "\(outcomes.count)")
        // Calls of a token that admits are all recorded.
        let right = try await self.token(.users)
        for _ in 0..<Int(AuditBudget.limit) + 5 { _ = try await call(.readAudit, app, token: right) }
        #expect(try await records(of: right).count == Int(AuditBudget.limit) + 5)
    }

    @Test func `wrong tokens are slowed down, and keep no right one out`() async throws {
        let app = try await AuthFixture.shared().app()
        let right = try await token(.readOnly)
        let wrong = right.dropLast() + (right.hasSuffix("0") ? "1" : "0")
        var codes: [String?] = []
        for _ in 0..<8 {
            codes.append(try await call(.listApps, app, token: String(wrong), from: "198.51.100.77").code)
        }
        #expect(codes.first == "MissingAuthReq" && codes.last == "TooManyRequests", "\(codes)")
        #expect(try await call(.listApps, app, token: right, from: "198.51.100.77").status == 200)
        for text in ["partita", "partita__", "partita_x_y", right.replacing("_", with: "-"), "", "_", "é"] {
            #expect(try await call(.listApps, app, token: text).status == 401, "\(text)")
        }
    }

    @Test func `an act and its record are one transaction, and the record is published`() async throws {
        let fixture = try await AuthFixture.shared()
        let app = try await fixture.app()
        let tail = Received()
        let reader = EventTail<AuditEvent>(pool: fixture.pool, kafka: fixture.server.engines.reading) { received in
            try await tail.add(received.map { try ReceivedEvent<AuditEvent>($0.message).payload })
        }
        let reading = Task { try await reader.run() }
        defer { reading.cancel() }
        try await reader.waitUntilPositioned()
        let user = try await app.newUser("audited@example.org").user
        let token = try await token(.users)
        let row = try #require(try await unpublishedRecord(of: user, token, fixture, app))
        #expect(row.0 && row.1 == user && row.3 == "done")
        let event = try await eventually("the record is published") {
            await tail.events.first { $0.token == id(token) }
        }
        #expect(event.app == app.app && event.action == "user.disable" && event.target == user)
    }

    /// Disables and enables a user until the record is read before it is published, which makes it another transaction's.
    /// - Returns: whether the record and the user were written by one transaction; target, address and outcome of the record.
    private func unpublishedRecord(
        of user: String, _ token: String, _ fixture: AuthFixture, _ app: AppClient
    ) async throws -> (Bool, String, String, String)? {
        for attempt in 0..<20 {
            let path =
                "/api/admin/v1/apps/\(app.app)/users/\(user)/\(attempt % 2 == 0 ? "disable" : "enable")"
            #expect(try await app.sendText(.put, path, nil, token: token).status == 204)
            let rows = try await fixture.postgres.query(
                """
                select a.xmin::text = u.xmin::text, a.target, a.address, a.outcome, a.is_published
                from partita.auth_audit a, partita.auth_users u where a.token = $1 and u.app = $2 and u.id = $3
                order by a.number desc limit 1
                """, [.text(id(token)), .text(app.app), .text(user)]
            ).decode((Bool, String, String, String, Bool).self)
            if let row = rows.first, !row.4 { return (row.0, row.1, row.2, row.3) }
        }
        return nil
    }

    @Test func `the log is read page by page`() async throws {
        let app = try await AuthFixture.shared().app()
        let token = try await token(.readOnly)
        for _ in 0..<3 { _ = try await call(.listTriggers, app, token: token) }
        let first = try await call(.readAudit, app, token: token, query: ["app": app.app, "limit": "2"])
        let records = try #require(first.json["records"]?.arrayValue)
        #expect(records.count == 2 && records[0]["tokenName"] == "of a test")
        let last = try #require(records[1]["number"]?.int64Value)
        let rest = try await call(.readAudit, app, token: token, query: ["app": app.app, "after": "\(last)"])
        #expect(rest.json["records"]?.arrayValue?.first?["action"] == "trigger.list")
        let later = try await call(
            .readAudit, app, token: token, query: ["app": app.app, "since": "2999-01-01T00:00:00Z"])
        #expect(later.json["records"]?.arrayValue?.isEmpty == true)
        for query in [["since": "yesterday"], ["limit": "0"], ["after": "x"]] as [KeyValuePairs<String, String?>] {
            #expect(try await call(.readAudit, app, token: token, query: query).code == "InvalidParameter")
        }
    }

    @Test func `a secret is set and listed, and its value is never returned`() async throws {
        let fixture = try await AuthFixture.shared()
        let app = try await fixture.app()
        let token = try await token(.secrets)
        let value = "the value \(ObjectId().hexString)"
        #expect(try await call(.setSecret, app, token: token, body: #"{"value": "\#(value)"}"#).status == 204)
        let list = try await call(.listSecrets, app, token: token)
        #expect(list.json["secrets"] == [["name": "key", "isSet": true]])
        #expect(try await fixture.registry.secrets(of: app.app)["key"] == value)
        let stored = try await fixture.postgres.query("select to_json(a)::text from partita.auth_audit a").decode(
            String.self)
        #expect(!stored.contains { $0.contains(value) })
        for body in ["", "[]", "{}", #"{"value": 1}"#, #"{"value": ""}"#, #"{"value": "\u0000"}"#] {
            let answer = try await call(.setSecret, app, token: token, body: body)
            #expect(answer.status == 400, "\(body): \(answer.json)")
        }
        // The body has at most 64 KiB, the value 48 KiB.
        for count in [50_000, 70_000] {
            let large = #"{"value": "\#(String(repeating: "x", count: count))"}"#
            let answer = try await call(.setSecret, app, token: token, body: large)
            #expect(answer.status == 413 && answer.code == "RequestEntityTooLarge", "\(answer.json)")
        }
        #expect(try await call(.removeSecret, app, token: token).status == 204)
        #expect(try await call(.removeSecret, app, token: token).code == "SecretNotFound")
    }

    @Test func `bad apps are refused with what is wrong`() async throws {
        let app = try await AuthFixture.shared().app()
        let token = try await token(.deploy)
        #expect(try await call(.deploy, app, token: token, body: "no archive").code == "source-unreadable")
        #expect(try await call(.rollBack, app, token: token, query: ["to": "99"]).code == "version-unknown")
        #expect(try await call(.rollBack, app, token: token, query: ["dryRun": "yes"]).code == "InvalidParameter")
        #expect(try await call(.export, app, token: token, query: ["version": "x"]).code == "InvalidParameter")
    }

    @Test func `long calls leave connections for users`() async throws {
        let fixture = try await AuthFixture.shared()
        // The second service has no other administrator.
        let app = fixture.later(try await fixture.app())
        let token = try await token(.deploy, .readOnly)
        try await fixture.server.engines.postgres.withConnection { connection in
            // As another process that deploys.
            _ = try await connection.query(
                "select pg_advisory_lock(hashtextextended('partita.deployment ' || $1, 0))", [.text(app.app)])
            try await withThrowingTaskGroup(of: String?.self) { group in
                for _ in 0..<6 {
                    group.addTask { try await call(.remove, app, token: token, query: ["wait": "3"]).code }
                }
                let codes = try await group.reduce(into: []) { $0.append($1) }
                // Two at a time, and those that have waited for five seconds are refused.
                #expect((2...4).contains(codes.count { $0 == "ServiceUnavailable" }), "\(codes)")
                #expect((2...4).contains(codes.count { $0 == "deployment-running" }), "\(codes)")
            }
            try await connection.runScript("select pg_advisory_unlock_all()")
        }
        #expect(try await call(.check, app, token: token).status == 200)
    }

    private actor Received {
        var events: [AuditEvent] = []
        func add(_ more: [AuditEvent]) { events += more }
    }
}
