import DocumentModel
import EventTopics
import Foundation
import FoundationNetworking
import TestSupport
import Testing

/// Incoming webhooks over real HTTP.
@Suite struct WebhookTests {
    private static func hook(_ members: String, _ source: String, _ name: String) -> [String: String] {
        [
            "services/web/incoming_webhooks/\(name)/config.json":
                "{\"name\": \"\(name)\", \"respond_result\": true, \(members)}",
            "services/web/incoming_webhooks/\(name)/source.js": source,
        ]
    }

    private static let open = #""options": {"httpMethod": "ANY", "validationMethod": "NO_VALIDATION"}"#
    private static let echo = """
        exports = ({ query, headers, body }, response) => ({ query, body: body && body.text(), given: headers["X-Given"],
          user: context.user.id, system: context.runningAsSystem(), service: context.request.service, action: context.request.action });
        """

    private static var files: [String: String] {
        let parts = [
            ["services/web/config.json": #"{"name": "web", "type": "http", "config": {}}"#],
            hook(open, echo, "echo"),
            hook(
                open, "exports = (payload, response) => { response.setStatusCode(200); return 'unseen'; };", "silent"),
            hook(open, "exports = () => ({ n: BSON.Long.fromNumber(5) });", "value"),
            hook(
                #""options": {"httpMethod": "GET", "validationMethod": "SECRET_AS_QUERY_PARAM", "secret": "open sesame"}"#,
                echo, "query"),
            hook(
                #""options": {"httpMethod": "POST", "validationMethod": "VERIFY_PAYLOAD", "secret": "12345"}"#, echo,
                "signed"),
            hook(
                #""options": {"httpMethod": "POST", "validationMethod": "VERIFY_PAYLOAD", "secret_name": "hookSecret"}"#,
                echo, "named"),
            hook(#""run_as_user_id": "bea", \#(open)"#, echo, "asUser"),
            hook(#""run_as_authed_user": true, \#(open)"#, echo, "caller"),
            hook(
                #""can_evaluate": {"%%request.requestHeaders.X-Given": ["yes"]}, \#(open)"#, echo, "ruled"),
            hook(
                #""run_as_user_id_script_source": "exports = ({ headers }) => { const id = headers['X-Given']?.[0]; if (id === 'boom') throw new Error('no such user'); return id === 'root' ? { runAsSystem: true } : id; };", \#(open)"#,
                echo, "script"),
            [
                "services/texts/config.json":
                    #"{"name": "texts", "type": "twilio", "config": {"sid": "AC"}, "secret_config": {"auth_token": "t"}}"#,
                "services/texts/incoming_webhooks/got/config.json": #"{"name": "got", "respond_result": true}"#,
                "services/texts/incoming_webhooks/got/source.js":
                    "exports = ({ From, To, Body }, response) => { response.setBody(`${From} ${To} ${Body}`); };",
            ],
        ]
        return parts.reduce(into: [:]) { $0.merge($1) { $1 } }
    }

    private struct Answer {
        let status: Int
        let text: String
        let value: Value
    }

    private struct World {
        let fixture: TriggersFixture
        let app: TriggerApp

        func request(
            _ method: String, _ target: String, _ headers: [String: String] = [:], body: String? = nil,
            service: String = "web"
        ) async throws -> Answer {
            let text =
                "http://127.0.0.1:\(fixture.port)/api/client/v2.0/app/\(app.id)/service/\(service)/incoming_webhook/\(target)"
            var request = URLRequest(url: try #require(URL(string: text)))
            request.httpMethod = method
            request.httpBody = body.map { Data($0.utf8) }
            for (name, value) in headers { request.setValue(value, forHTTPHeaderField: name) }
            let (data, response) = try await URLSession.shared.data(for: request)
            let parsed = try? ExtendedJSON.parse(Array(data))  // some answers are no JSON
            return Answer(
                status: (response as? HTTPURLResponse)?.statusCode ?? 0, text: String(decoding: data, as: UTF8.self),
                value: parsed ?? .undefined)
        }
    }

    private func world() async throws -> World {
        let fixture = try await TriggersFixture.shared()
        let app = TriggerApp(more: Self.files)
        try await fixture.registry.setSecret("hookSecret", of: app.id, to: "12345")
        try await fixture.deploy(app)
        return World(fixture: fixture, app: app)
    }

    @Test func `a webhook's function gets the request, and runs as the system`() async throws {
        let world = try await world()
        for method in ["GET", "POST", "PUT", "PATCH", "DELETE"] {
            let body = method == "GET" || method == "DELETE" ? nil : "hi ü"
            let answer = try await world.request(method, "echo?a=1%20x", ["X-Given": "h"], body: body)
            #expect(answer.status == 200, "\(method) \(answer)")
            #expect(answer.value["query"]?["a"] == "1 x" && answer.value["given"] == .array(["h"]))
            #expect(answer.value["body"] == body.map { .string($0) })
            #expect(answer.value["system"] == true && answer.value["user"] == "")
            #expect(answer.value["service"] == "web" && answer.value["action"] == "echo", "\(answer)")
        }
        let form = try await world.request(
            "POST", "got", ["Content-Type": "application/x-www-form-urlencoded"],
            body: "From=%2B1555&To=%2B1666&Body=Hello%21+How+are+you%3F&NumMedia=0", service: "texts")
        #expect(form.status == 200 && form.text == "+1555 +1666 Hello! How are you?", "\(form)")
    }

    @Test func `a function that sets its response answers with nothing else`() async throws {
        let world = try await world()
        let silent = try await world.request("GET", "silent")
        #expect(silent.status == 200 && silent.text.isEmpty, "\(silent)")
        #expect(try await world.request("GET", "value").text == #"{"n":{"$numberLong":"5"}}"#)
    }

    @Test func `method, secret and signature are checked`() async throws {
        let world = try await world()
        #expect(try await world.request("GET", "query?secret=open%20sesame").status == 200)
        for target in ["query", "query?secret=open", "query?secret="] {
            let answer = try await world.request("GET", target)
            #expect(answer.status == 401 && answer.value["error_code"] == "Unauthorized", "\(target) \(answer)")
        }
        #expect(try await world.request("POST", "query?secret=open%20sesame", body: "").status == 405)
        // From `printf %s '{"message":"MESSAGE"}' | openssl dgst -sha256 -hmac 12345`.
        let signature = "sha256=828ee180512eaf8a6229eda7eea72323f68e9c0f0093b11a578b0544c5777862"
        let body = #"{"message":"MESSAGE"}"#
        for name in ["signed", "named"] {
            let signed = try await world.request("POST", name, ["X-Hook-Signature": signature], body: body)
            #expect(signed.status == 200 && signed.value["body"]?.stringValue == body, "\(signed)")
            let changed = try await world.request("POST", name, ["X-Hook-Signature": signature], body: body + " ")
            #expect(changed.status == 401)
            let other = try await world.request("POST", name, ["Endpoint-Signature": signature], body: body)
            #expect(other.status == 401)
        }
        #expect(try await world.request("GET", "gone").status == 404)
        #expect(try await world.request("GET", "echo", service: "other").status == 404)
    }

    @Test func `a webhook runs as the user that it names, its script chooses, or its caller is`() async throws {
        let world = try await world()
        let named = try await world.request("GET", "asUser")
        #expect(named.value["user"] == "bea" && named.value["system"] == false, "\(named)")
        let chosen = try await world.request("GET", "script", ["X-Given": "cleo"])
        #expect(chosen.value["user"] == "cleo" && chosen.value["system"] == false, "\(chosen)")
        let system = try await world.request("GET", "script", ["X-Given": "root"])
        #expect(system.value["system"] == true, "\(system)")
        for (kind, code) in [(AuthEvent.Kind.userDisabled, "UserDisabled"), (.userDeleted, "UserNotFound")] {
            try await world.fixture.tell(kind, of: "cleo", app: world.app)
            let blocked = try await world.request("GET", "script", ["X-Given": "cleo"])
            #expect(blocked.status == 403 && blocked.value["error_code"]?.stringValue == code, "\(blocked)")
        }
        let nobody = try await world.request("GET", "script")
        #expect(nobody.status == 403 && nobody.value["error_code"] == "NoMatchingRuleFound")
        let failed = try await world.request("GET", "script", ["X-Given": "boom"])
        #expect(failed.status == 400 && failed.text.contains("no such user"), "\(failed)")
        #expect(try await world.request("GET", "caller").status == 401)
        let token = try world.fixture.token(world.app, user: "dan")
        let caller = try await eventually("the signing key is known") {
            let answer = try await world.request("GET", "caller", ["Authorization": "Bearer \(token)"])
            return answer.status == 200 ? answer : nil
        }
        #expect(caller.value["user"] == "dan" && caller.value["system"] == false)
        #expect(try await world.request("GET", "ruled", ["X-Given": "yes"]).status == 200)
        let refused = try await world.request("GET", "ruled", ["X-Given": "no"])
        #expect(refused.status == 403 && refused.value["error_code"] == "NoMatchingRuleFound", "\(refused)")
    }

    @Test func `clients can't call the function of a webhook`() async throws {
        let world = try await world()
        let token = try world.fixture.token(world.app)
        let answer = try await eventually("the signing key is known") {
            let answer = try await world.fixture.call(
                "services/web/incoming_webhooks/echo", app: world.app.id, token: token)
            return answer.status == 401 ? nil : answer
        }
        #expect(answer.status == 404 && answer.text.contains("FunctionNotFound"), "\(answer)")
    }
}
