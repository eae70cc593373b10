import AppDefinition
import Testing

/// Incoming webhooks of an export.
struct WebhookTests {
    private static let place = "services/web/incoming_webhooks/hook"

    private struct Unexpected: Error {
        let webhook: Webhook

        init(_ webhook: Webhook) { self.webhook = webhook }
    }

    private func inspect(
        _ config: String, type: String = "http", source: String? = "exports = () => 1;\n"
    ) -> AppDefinition.Inspection {
        var files = AppFixture.files
        files.texts["services/web/config.json"] = #"{"name": "web", "type": "\#(type)", "config": {}}"#
        files.texts["\(Self.place)/config.json"] = config
        files.texts["\(Self.place)/source.js"] = source
        return AppDefinition.inspect(files)
    }

    @Test func `a webhook is served with a function of its own, as the system`() throws {
        let inspection = inspect(
            #"{"name": "hook", "respond_result": true, "options": {"httpMethod": "ANY", "validationMethod": "NO_VALIDATION"}}"#
        )
        #expect(!inspection.problems.contains { $0.file.contains(Self.place) })
        let webhook = try #require(inspection.definition.webhook("hook", of: "web"))
        #expect(webhook.endpoint.method == "*" && webhook.endpoint.respondsWithResult)
        #expect(webhook.endpoint.returnsExtendedJSON && webhook.endpoint.validation.secret == nil)
        let function = try #require(inspection.definition.function(webhook.endpoint.functionName))
        #expect(function.isPrivate && function.runsAsSystem && function.file == "\(Self.place)/source.js")
        let report = AppReport(inspection.definition, problems: inspection.problems)
        #expect(report.served.contains { $0.feature == "webhooks" && $0.text == "1" })
        #expect(report.served.contains { $0.feature == "functions" && $0.text.hasPrefix("2,") })
        #expect(inspection.definition.webhook("Hook", of: "web") == nil)
        #expect(inspection.definition.webhook("hook", of: "other") == nil)
    }

    @Test func `who runs it, and what it checks, are read`() throws {
        func read(_ members: String) throws -> (webhook: Webhook, function: FunctionDefinition) {
            let definition = inspect("{\"name\": \"hook\", \(members)}").definition
            let webhook = try #require(definition.webhook("hook", of: "web"))
            return (webhook, try #require(definition.function(webhook.endpoint.functionName)))
        }
        let user = try read(#""run_as_user_id": "u1", "can_evaluate": {"%%request.httpMethod": "GET"}"#)
        #expect(!user.function.runsAsSystem && user.function.runAsUserId == "u1" && user.function.canEvaluate != nil)
        let caller = try read(#""run_as_authed_user": true, "run_as_user_id": """#)
        #expect(!caller.function.runsAsSystem && caller.function.runAsUserId == nil)
        let script = try read(#""run_as_user_id_script_source": "exports = ({headers}) => headers.User[0]""#)
        #expect(!script.function.runsAsSystem && script.function.userFunction != nil)
        let secret = try read(
            #""options": {"httpMethod": "POST", "validationMethod": "SECRET_AS_QUERY_PARAM", "secret": "hunter2"}"#)
        guard case .secretInQuery(.text("hunter2")) = secret.webhook.endpoint.validation else {
            throw Unexpected(secret.webhook)
        }
        let signed = try read(#""options": {"validationMethod": "VERIFY_PAYLOAD", "secret_name": "hookSecret"}"#)
        guard case .signedBody(.named("hookSecret"), "X-Hook-Signature") = signed.webhook.endpoint.validation else {
            throw Unexpected(signed.webhook)
        }
    }

    @Test(arguments: [
        (#"{"name": "hook", "options": {"httpMethod": "FETCH"}}"#, "http", "FETCH"),
        (#"{"name": "hook", "options": {"validationMethod": "TRUST"}}"#, "http", "TRUST"),
        (#"{"name": "hook", "options": {"validationMethod": "VERIFY_PAYLOAD"}}"#, "http", "needs"),
        (#"{"name": "hook", "options": {"secret": "hunter2"}}"#, "http", "no validationMethod"),
        (#"{"name": "hook"}"#, "github", "github"),
    ])
    func `what can't be served as it is meant is named with its file`(
        _ config: String, _ type: String, _ word: String
    ) throws {
        let inspection = inspect(config, type: type)
        #expect(inspection.definition.webhooks.isEmpty)
        let problem = try #require(inspection.problems.first { $0.code == .endpointNotServed })
        #expect(problem.file == "\(Self.place)/config.json" && problem.severity == .warning)
        #expect(problem.message.contains(word) && !problem.message.contains("hunter2"), "\(problem)")
        let report = AppReport(inspection.definition, problems: inspection.problems)
        #expect(report.unserved.contains { $0.feature == "webhooks" })
    }

    @Test func `a webhook without source is named`() {
        let inspection = inspect(#"{"name": "hook"}"#, source: nil)
        #expect(inspection.problems.contains { $0.code == .endpointNotServed && $0.message.contains("source.js") })
        #expect(inspection.isDeployable)
    }
}
