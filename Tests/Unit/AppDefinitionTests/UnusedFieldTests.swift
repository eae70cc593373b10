import AppDefinition
import DocumentModel
import Testing

/// Settings that have no effect are named, each with its file and line.
struct UnusedFieldTests {
    private func warnings(_ file: String, _ text: String) -> [String] {
        AppFixture.problems(file, text).filter { $0.code == .fieldUnused }.map {
            "\($0.file):\($0.line ?? 0) \($0.pointer) \($0.message)"
        }
    }

    private static func database(_ config: String, _ more: String = "") -> String {
        """
        {"name": "written", "type": "DATABASE", "function_name": "greet"\(more),
         "config": {"service_name": "mongodb-atlas", "database": "Shop", "collection": "Customer",
          "operation_types": ["INSERT"],
          \(config)}}
        """
    }

    /// The file, its text, and how each warning begins after the file's name.
    @Test(arguments: [
        ("triggers/written.json", database(#""maximum_throughput": true"#), ["4 /config/maximum_throughput maximum_"]),
        ("triggers/written.json", database(#""tolerate_resume_errors": true"#), ["4 /config/tolerate_resume_errors "]),
        (
            "triggers/written.json", database(#""event_batching": {"size": 5}, "retries": 3"#, #", "owner": "x""#),
            ["1 /owner ", "4 /config/event_batching ", "4 /config/retries "]
        ),
        (
            "triggers/nightly.json",
            #"{"name": "nightly", "type": "SCHEDULED", "config": {"schedule": "0 3 * * *", "time_zone": "CET"}, "function_name": "greet"}"#,
            ["1 /config/time_zone "]
        ),
        (
            "http_endpoints/config.json",
            #"[{"route": "/a", "function_name": "greet", "fetch_custom_user_data": true, "rate_limit": 5}]"#,
            ["1 /0/rate_limit "]
        ),
        (
            "sync/config.json",
            """
            {"state": "enabled", "database_name": "Shop", "last_disabled": 5, "compression": "zlib",
             "partition": {"key": "_partition", "type": "string", "cache": 5,
              "permissions": {"read": true, "write": true, "delete": true}}}
            """, ["1 /compression ", "2 /partition/cache ", "3 /partition/permissions/delete "]
        ),
        (
            "auth/providers.json",
            #"{"custom-token": {"name": "custom-token", "type": "custom-token", "id": "5", "lockout": 5, "config": {"audience": "a", "useJWKURI": true, "jwkURI": "https://a.example/k", "cacheSeconds": 5}}}"#,
            ["1 /custom-token/lockout ", "1 /custom-token/config/cacheSeconds "]
        ),
        (
            "hosting/config.json",
            #"{"enabled": true, "default_response_code": 404, "default_error_code": "404", "app_default_domain": "a.example", "cdn": true}"#,
            ["1 /app_default_domain app_default_domain has no effect here; hosted files", "1 /cdn "]
        ),
        ("hosting/metadata.json", #"[{"path": "/a", "attrs": [], "acl": "public"}]"#, []),
        ("values/limit.json", #"{"name": "limit", "value": {"a": 5}, "private": true, "scope": "x"}"#, ["1 /scope "]),
        ("environments/production.json", #"{"values": {"a": 5}, "extends": "testing"}"#, ["1 /extends "]),
        (
            "functions/config.json", #"[{"name": "confirm"}, {"name": "greet", "timeout": 5}]"#, ["1 /1/timeout "]
        ),
        (
            "data_sources/mongodb-atlas/config.json",
            """
            {"name": "mongodb-atlas", "type": "mongodb-atlas", "linked": 5,
             "config": {"clusterName": "C", "readPreference": "secondary", "wireProtocolEnabled": true,
              "readPreferenceTagSets": [{"a": "b"}]}}
            """,
            [
                "1 /linked ", "2 /config/readPreference readPreference has no effect here; every read is",
                "2 /config/wireProtocolEnabled ", "3 /config/readPreferenceTagSets ",
            ]
        ),
        (
            "data_sources/mongodb-atlas/Shop/Customer/rules.json",
            """
            {"limits": 5, "roles": [{"name": "r", "apply_when": {}, "read": true, "masks": {"a": 1},
              "fields": {"credit": {"read": true, "mask": "x"}}}],
             "filters": [{"name": "f", "apply_when": {}, "query": {"a": 1}, "order": 1}]}
            """, ["1 /limits ", "1 /roles/0/masks ", "2 /roles/0/fields/credit/mask ", "3 /filters/0/order "]
        ),
        (
            "services/mail/config.json", #"{"name": "mail", "type": "http", "config": {"a": 1}, "quota": 5}"#,
            ["1 /quota "]
        ),
    ])
    func `a setting without effect is named`(_ file: String, _ text: String, _ expected: [String]) {
        let warnings = warnings(file, text)
        #expect(warnings.count == expected.count, "\(warnings)")
        for (warning, start) in zip(warnings, expected) {
            #expect(warning.hasPrefix("\(file):\(start)"), "\(warnings)")
        }
    }

    @Test(arguments: [
        ("triggers/written.json", database(#""unordered": false, "maximum_throughput": true"#, #", "disabled": true"#)),
        (
            "triggers/written.json",
            database(#""unordered": false, "maximum_throughput": false, "tolerate_resume_errors": false"#)
        ),
        ("sync/config.json", #"{"state": "enabled", "type": "flexible", "database_name": "Shop", "other": 5}"#),
        ("sync/config.json", #"{"state": "", "database_name": "Shop", "other": 5}"#),
        (
            "auth/providers.json",
            #"{"anon-user": {"name": "anon-user", "type": "anon-user", "disabled": true, "other": 5}}"#
        ),
        (
            "auth/providers.json",
            #"{"oidc-a": {"name": "oidc-a", "type": "openid-connect", "config": {"issuer": "https://a.example", "clientId": "a", "audience": [], "scopes": ["openid"]}, "secret_config": {"clientSecret": "s"}}}"#
        ),
        ("hosting/config.json", #"{"enabled": false, "app_default_domain": "a.example"}"#),
        ("functions/other/config.json", #"{"name": "tool", "rules": 5}"#),
        (
            "data_sources/mongodb-atlas/config.json",
            #"{"name": "mongodb-atlas", "type": "mongodb-atlas", "version": 1, "config": {"clusterName": "C", "readPreference": "primary", "readPreferenceTagSets": [], "wireProtocolEnabled": false, "namespaces": [{"a": 1}], "sync": {"state": "disabled", "other": 5}}}"#
        ),
        ("services/web/incoming_webhooks/w/config.json", #"{"name": "w", "other": 5}"#),
    ])
    func `what is off or has its default is no setting without effect`(_ file: String, _ text: String) {
        #expect(warnings(file, text) == [])
    }

    @Test func `of many endpoints, only that which isn't off has a setting without effect`() {
        let off = (0..<3000).map {
            #"{"route": "/\#($0)", "function_name": "greet", "disabled": true, "odd": {"a": 1}}"#
        }
        let on = #"{"route": "/on", "function_name": "greet", "odd": {"a": 1}}"#
        let warnings = warnings("http_endpoints/config.json", "[\((off + [on]).joined(separator: ",\n"))]")
        #expect(warnings.count == 1 && warnings.first?.contains(":3001 /3000/odd") == true, "\(warnings)")
    }

    @Test func `fields beyond a number are counted`() {
        let fields = (0..<30).map { #""x\#($0)y": 1"# }.joined(separator: ", ")
        let warnings = warnings("values/limit.json", #"{"name": "limit", "value": 1, \#(fields)}"#)
        #expect(warnings.count == 21 && warnings.contains { $0.contains("10 more fields") }, "\(warnings)")
    }

    @Test func `every kind of problem has a remedy, and a report has those of its problems`() {
        for code in DefinitionProblem.Code.allCases { #expect(!code.remedy.isEmpty) }
        let inspection = AppDefinition.inspect(AppFixture.files("triggers/nightly.json", "{,}"))
        let lines = AppReport(inspection.definition, problems: inspection.problems).lines
        #expect(lines.contains("what to do:"), "\(lines)")
        #expect(lines.contains { $0.contains("json-invalid") && $0.contains("correct the JSON") }, "\(lines)")
        #expect(AppDefinitionError(problems: inspection.problems).description.contains("what to do about json-invalid"))
        #expect(!AppReport(inspection.definition, problems: []).lines.contains("what to do:"))
    }

    @Test(arguments: [
        (
            "graphql/custom_resolvers/tasks.json", "{\"on_type\": \"Query\",\n \"field_name\": \"tasks\"}", 2,
            "Query.tasks"
        ),
        ("graphql/config.json", "{}", 1, "GraphQL"), ("graphql/validation_settings.json", "{}", 1, "GraphQL"),
        ("log_forwarders/all.json", "{}", 1, "log forwarders"), ("push/gcm.json", "{}", 1, "push messages"),
        ("services/push/config.json", "{\"name\": \"push\",\n \"type\": \"gcm\"}", 2, "gcm"),
    ])
    func `what isn't served has a line`(_ file: String, _ text: String, _ line: Int, _ name: String) throws {
        let problems = AppFixture.problems(file, text).filter { $0.file == file }
        #expect(problems.map(\.line) == [line] && problems.first?.message.contains(name) == true, "\(problems)")
    }

    @Test(arguments: [
        (#"[{"name": "confirm"}, {"name": "greet", "private": true}]"#, DefinitionProblem.Code.partShadowed),
        (#"[{"name": "confirm"}]"#, .functionNotConfigured),
    ])
    func `a leftover doesn't open a function, which is said by name`(_ list: String, _ code: DefinitionProblem.Code)
        throws
    {
        var files = AppFixture.files("functions/config.json", list)
        files.texts["functions/greet.js"] = list.contains("greet") ? "exports = () => 1;\n" : nil
        files.texts["functions/greet/config.json"] = "{\"name\": \"greet\",\n \"private\": false}"
        files.texts["functions/greet/source.js"] = "exports = () => 1;\n"
        let inspection = AppDefinition.inspect(files)
        let problem = try #require(inspection.problems.first { $0.file == "functions/greet/config.json" })
        #expect(problem.code == code && problem.line == 2 && problem.pointer == "/private", "\(problem)")
        #expect(problem.message.contains(#""private": false of greet"#))
        #expect(inspection.definition.function("greet")?.isPrivate == true)
    }
}
