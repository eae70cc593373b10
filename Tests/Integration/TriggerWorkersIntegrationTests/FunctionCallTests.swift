import DocumentModel
import EventTopics
import Postgres
import TestSupport
import Testing

@Suite struct FunctionCallTests {
    private static let functions = [
        "add": "exports = (a, b) => ({sum: a + b, user: context.user.id});",
        "hiddenOne": "exports = () => 1;",
        "talk": "exports = () => { for (let i = 0; i < 20; i++) console.log(i); };",
        "broken": "exports = () => { throw new Error('it broke'); };",
        "many": """
        exports = async (count) => {
          const notes = context.services.get('mongodb-atlas').db('Test').collection('Many');
          await Promise.all([...Array(count).keys()].map((n) => notes.insertOne({ _id: n })));
          for (let n = 0; n < count; n++) notes.updateOne({ _id: n }, { $set: { done: true } });
        }
        """,
        "done": """
        exports = () => context.services.get('mongodb-atlas').db('Test').collection('Many').count({ done: true })
        """,
        "hang": "exports = async () => {\n console.log('begun'); await new Promise(r => setTimeout(r, 1e9)); };",
    ]

    /// Deploys an app.
    /// - Returns: a user's token, which the workers take.
    private func deployed(_ app: TriggerApp, _ fixture: TriggersFixture) async throws -> String {
        try await fixture.deploy(app)
        return try await eventually("the signing key is known") {
            let token = try fixture.token(app)
            return try await fixture.call("known", app: app.id, token: token).status == 200 ? token : nil
        }
    }

    private func code(_ text: String) -> String? { (try? ExtendedJSON.parse(text))?["error_code"]?.stringValue }

    @Test func `a call answers with the function's value`() async throws {
        let fixture = try await TriggersFixture.shared()
        let app = TriggerApp(functions: Self.functions)
        let token = try await deployed(app, fixture)
        let answer = try await fixture.call("add", "[1, 2]", app: app.id, token: token)
        #expect(answer.status == 200)
        let value = try ExtendedJSON.parse(answer.text)
        #expect(value["sum"]?.intValue == 3)
        #expect(value["user"]?.stringValue == "ann")

        let failed = try await fixture.call("broken", app: app.id, token: token)
        #expect(failed.status == 400)
        #expect(code(failed.text) == "FunctionExecutionError")
        #expect(failed.text.contains("it broke"))
        let link = try ExtendedJSON.parse(failed.text)["link"]?.stringValue
        #expect(link?.hasPrefix("http://127.0.0.1:") == true, "\(failed.text)")
        #expect(link?.contains("/api/admin/v1/apps/\(app.id)/logs?before=") == true, "\(failed.text)")
        let logged = try await eventually("the failure is in the function's log") {
            try await fixture.postgres.query(
                "select message from partita.function_logs where app = $1 and level = 'error' and function = 'broken'",
                [.text(app.id)]
            ).decode(String.self).first
        }
        #expect(logged.contains("it broke"))
    }

    @Test func `hundreds of operations that a function starts at once are all done, awaited or not`() async throws {
        let fixture = try await TriggersFixture.shared()
        let app = TriggerApp(functions: Self.functions)
        let token = try await deployed(app, fixture)
        let answer = try await fixture.call("many", "[{\"$numberInt\": \"400\"}]", app: app.id, token: token)
        #expect(answer.status == 200, "\(answer.text)")
        let done = try await fixture.call("done", app: app.id, token: token)
        #expect(try ExtendedJSON.parse(done.text).intValue == 400)
    }

    @Test func `the lines of a console keep their order`() async throws {
        let fixture = try await TriggersFixture.shared()
        let app = TriggerApp(functions: Self.functions)
        try await fixture.deploy(app)
        let token = try fixture.token(app)
        try await eventually("the signing key is known") {
            try await fixture.call("talk", app: app.id, token: token).status == 200
        }
        try await eventually("the lines are kept") {
            try await fixture.postgres.query(
                "select string_agg(message, ' ') from partita.function_logs where app = $1 group by at order by at",
                [.text(app.id)]
            ).decode(String.self) == (0..<20).map { "\($0)" }
        }
    }

    @Test func `a call that can't be made has a code`() async throws {
        let fixture = try await TriggersFixture.shared()
        let app = TriggerApp(functions: Self.functions)
        let token = try await deployed(app, fixture)
        let refusals: [(String, Int, (status: Int, text: String))] = [
            ("AppNotFound", 404, try await fixture.call("add", app: "no-app", token: token)),
            ("InvalidSession", 401, try await fixture.call("add", app: app.id, token: nil)),
            ("InvalidSession", 401, try await fixture.call("add", app: app.id, token: "forged")),
            (
                "InvalidSession", 401,
                try await fixture.call("add", app: app.id, token: fixture.token(app, lifetime: -600))
            ),
            ("FunctionNotFound", 404, try await fixture.call("none", app: app.id, token: token)),
            ("FunctionNotFound", 404, try await fixture.call("hiddenOne", app: app.id, token: token)),
            ("MissingParameter", 400, try await fixture.post("{}", app: app.id, token: token)),
            ("BadRequest", 400, try await fixture.post("{", app: app.id, token: token)),
            ("InvalidParameter", 400, try await fixture.call("add", "{}", app: app.id, token: token)),
            ("InvalidParameter", 400, try await fixture.call("add", "\"x\"", app: app.id, token: token)),
            (
                "ServiceNotFound", 404,
                try await fixture.post(#"{"name": "find", "service": "s"}"#, app: app.id, token: token)
            ),
            (
                "ServiceCommandNotFound", 400,
                try await fixture.post(#"{"name": "x", "service": "mongodb-atlas"}"#, app: app.id, token: token)
            ),
            (
                "ArgumentsNotAllowed", 400,
                try await fixture.post(#"{"name": "find", "service": "mongodb-atlas"}"#, app: app.id, token: token)
            ),
        ]
        for (expected, status, answer) in refusals {
            #expect(answer.status == status)
            #expect(code(answer.text) == expected)
        }
    }

    @Test func `a user who is shut out can't call functions until enabled again`() async throws {
        let fixture = try await TriggersFixture.shared()
        let app = TriggerApp(functions: Self.functions)
        let token = try await deployed(app, fixture)
        let find = #"{"name": "find", "service": "mongodb-atlas", "arguments": [{"database": "d", "collection": "c"}]}"#
        let changes: [(AuthEvent.Kind, status: Int, code: String?)] = [
            (.userDisabled, 403, "UserDisabled"), (.userEnabled, 200, nil), (.userDeleted, 401, "InvalidSession"),
        ]
        for (kind, status, expected) in changes {
            try await fixture.tell(kind, of: "ann", app: app)
            try await eventually("\(kind) is known") {
                let answer = try await fixture.call("add", "[1, 2]", app: app.id, token: token)
                return answer.status == status && code(answer.text) == expected
            }
            let found = try await fixture.post(find, app: app.id, token: token)
            #expect(code(found.text) == expected ?? "NoMatchingRuleFound")
            let other = try await fixture.call("add", "[1, 2]", app: app.id, token: fixture.token(app, user: "bob"))
            #expect(other.status == 200)
        }
    }

    @Test func `an ended session can't call functions, and its user's others can`() async throws {
        let fixture = try await TriggersFixture.shared()
        let app = TriggerApp(functions: Self.functions)
        _ = try await deployed(app, fixture)
        let session = ObjectId().hexString
        let token = try fixture.token(app, session: session)
        #expect(try await fixture.call("add", "[1, 2]", app: app.id, token: token).status == 200)
        try await fixture.end(session, of: "ann", app: app)
        try await eventually("the end is known") {
            let answer = try await fixture.call("add", "[1, 2]", app: app.id, token: token)
            return answer.status == 401 && code(answer.text) == "InvalidSession"
        }
        let other = try await fixture.call("add", "[1, 2]", app: app.id, token: fixture.token(app))
        #expect(other.status == 200)
    }

    @Test func `a call whose client hangs up is ended`() async throws {
        let fixture = try await TriggersFixture.shared()
        let app = TriggerApp(functions: Self.functions)
        let token = try await deployed(app, fixture)
        let lines = {
            try await fixture.postgres.query(
                "select level || ' ' || message || coalesce(' ' || line, '') from partita.function_logs where app = $1",
                [.text(app.id)]
            ).decode(String.self)
        }
        let call = Task { try await fixture.call("hang", app: app.id, token: token) }
        try await eventually("the function runs") { try await lines() == ["log begun 2"] }
        call.cancel()
        await #expect(throws: (any Error).self) { try await call.value }
        try await eventually("the function is ended") {
            try await lines().contains("warn Cancelled: the client hung up, the function was ended")
        }
        #expect(try await fixture.call("add", "[1, 2]", app: app.id, token: token).status == 200)
    }

    @Test func `a function's requests reach no address of this machine but what the operator allows`() async throws {
        let fixture = try await TriggersFixture.shared()
        let app = TriggerApp(functions: [
            "get": """
            exports = async url => {
              try { return (await context.http.get({ url })).statusCode } catch (error) { return `${error.name}: ${error.message}` }
            }
            """
        ])
        let token = try await deployed(app, fixture)
        func get(_ host: String) async throws -> Value {
            let url = "http://\(host):\(fixture.port)/health/live"
            let answer = try await fixture.call("get", "[\"\(url)\"]", app: app.id, token: token)
            #expect(answer.status == 200)
            return try ExtendedJSON.parse(answer.text)
        }
        for host in ["127.0.0.1", "0.0.0.0", "[::ffff:127.0.0.1]", "169.254.169.254", "10.0.0.1"] {
            let error = try await get(host).stringValue
            #expect(error?.hasPrefix("RestrictedHost: ") == true, "\(host): \(error ?? "answered")")
            #expect(error?.contains("egress.allow") == true)
        }
        #expect(try await get("localhost").intValue == 200)
    }
}
