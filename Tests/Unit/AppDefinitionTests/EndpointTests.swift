import AppDefinition
import Testing

/// HTTPS endpoints: what is read of them, and which aren't served.
struct EndpointTests {
    private static let file = "http_endpoints/config.json"

    private static func inspect(_ text: String, functions: [String: String] = [:]) -> AppDefinition.Inspection {
        var files = AppFixture.files
        files.texts["http_endpoints/config.json"] = text
        for (path, text) in functions { files.texts[path] = text }
        return AppDefinition.inspect(files)
    }

    @Test func `an endpoint is read with its validation, and its secret is one that the app needs`() throws {
        let inspection = Self.inspect(
            """
            [{"route": "/open", "http_method": "get", "function_name": "greet", "validation_method": "NO_VALIDATION",
              "respond_result": true, "return_type": "EJSON"},
             {"route": "hooks/pay", "http_method": "POST", "function_name": "greet",
              "validation_method": "VERIFY_PAYLOAD", "secret_name": "paySecret"},
             {"route": "/query", "http_method": "*", "function_name": "greet",
              "validation_method": "SECRET_AS_QUERY_PARAM", "secret_name": "querySecret", "disabled": false}]
            """)
        #expect(inspection.problems.isEmpty, "\(inspection.problems)")
        let app = inspection.definition
        let open = try #require(app.endpoints(at: "/open").first)
        #expect(open.method == "GET" && open.respondsWithResult && open.returnsExtendedJSON)
        #expect(open.validation.secretName == nil)
        let signed = try #require(app.endpoints(at: "/hooks/pay").first)
        guard case .signedBody(.named("paySecret"), "Endpoint-Signature") = signed.validation else {
            throw Unexpected(signed)
        }
        #expect(!signed.respondsWithResult && !signed.returnsExtendedJSON)
        guard case .secretInQuery(.named("querySecret"))? = app.endpoints(at: "/query").first?.validation else {
            throw Unexpected(app.httpEndpoints)
        }
        #expect(app.endpoints(at: "/query/").isEmpty && app.endpoints(at: "/Query").isEmpty)
        #expect(app.secretNames.contains("paySecret") && app.secretNames.contains("querySecret"))
        let report = AppReport(app, problems: inspection.problems)
        #expect(report.served.contains { $0.feature == "HTTPS endpoints" && $0.text == "3" })
        #expect(report.unserved.isEmpty)
    }

    @Test(arguments: [
        (#""http_method": "FETCH""#, "/0/http_method"), (#""validation_method": "TRUST""#, "/0/validation_method"),
        (#""validation_method": "VERIFY_PAYLOAD""#, "/0/validation_method"),
        (#""validation_method": "SECRET_AS_QUERY_PARAM", "secret_name": """#, "/0/validation_method"),
        (#""run_as_user_id_script_source": "exports = () => 'x'""#, "/0/run_as_user_id_script_source"),
        (#""run_as_user_id": "5f""#, "/0/run_as_user_id"), (#""can_evaluate": {"%%user.id": "5f"}"#, "/0/can_evaluate"),
        (#""can_evaluate": false"#, "/0/can_evaluate"),
    ])
    func `an endpoint with a restriction that isn't supported isn't served, and its setting is named`(
        _ setting: String, _ pointer: String
    ) throws {
        let inspection = Self.inspect("[{\"route\": \"/a\", \"function_name\": \"greet\",\n \(setting)}]")
        #expect(inspection.isDeployable)
        let problem = try #require(inspection.problems.first)
        #expect(inspection.problems.count == 1 && problem.code == .endpointNotServed && problem.file == Self.file)
        #expect(problem.line == 2 && problem.description.contains(pointer), "\(problem)")
        #expect(inspection.definition.endpoints(at: "/a").isEmpty)
        let report = AppReport(inspection.definition, problems: inspection.problems)
        #expect(report.unserved.map(\.feature) == ["HTTPS endpoints"])
        #expect(report.served.contains { $0.feature == "HTTPS endpoints" && $0.text == "0, 1 not served" })
    }

    @Test func `the report tells endpoints that the app disables from those that aren't served`() {
        let inspection = Self.inspect(
            """
            [{"route": "/a", "function_name": "greet"}, {"route": "/b", "function_name": "greet", "disabled": true},
             {"route": "/c", "function_name": "gone"}]
            """)
        let report = AppReport(inspection.definition, problems: inspection.problems)
        #expect(report.served.first { $0.feature == "HTTPS endpoints" }?.text == "1, 1 disabled, 1 not served")
    }

    @Test(arguments: ["/q?x=1", "/q#x", "/u/:id", "/u/*", "/u/{id}"])
    func `a route that isn't what its text looks like is warned of`(_ route: String) throws {
        let inspection = Self.inspect("[{\"route\": \"\(route)\", \"function_name\": \"greet\"}]")
        let problem = try #require(inspection.problems.first)
        #expect(inspection.problems.count == 1 && problem.severity == .warning && problem.code == .fieldValue)
        #expect(problem.line == 1 && problem.description.contains("/0/route"), "\(problem)")
    }

    @Test func `an endpoint at a path of the data API isn't served`() throws {
        let inspection = Self.inspect(#"[{"route": "/data/v1/action/find", "function_name": "greet"}]"#)
        #expect(inspection.problems.map(\.code) == [.endpointNotServed])
        #expect(inspection.definition.endpoints(at: "/data/v1/action/find").isEmpty)
    }

    @Test func `a function that a script guards is an endpoint with its script`() throws {
        let inspection = Self.inspect(
            #"[{"route": "/a", "http_method": "GET", "function_name": "guarded"}]"#,
            functions: [
                "functions/config.json": """
                [{"name": "greet"}, {"name": "confirm", "private": true},
                 {"name": "guarded", "run_as_system": true, "run_as_user_id_script_source": "exports = () => ''"}]
                """, "functions/guarded.js": "exports = () => 1;",
            ])
        #expect(!inspection.problems.contains { $0.file == Self.file || $0.file == "functions/config.json" })
        #expect(inspection.definition.endpoints(at: "/a").count == 1)
        let name = try #require(inspection.definition.function("guarded")?.userFunction)
        let script = try #require(inspection.definition.function(name))
        #expect(script.isPrivate && script.runsAsSystem && script.source == "exports = () => ''")
        let report = AppReport(inspection.definition, problems: inspection.problems)
        #expect(report.served.contains { $0.feature == "functions" && $0.text.hasPrefix("3, ") })
    }

    @Test func `two endpoints of one method and route are an error, of two methods are not`() {
        func problems(_ method: String) -> [DefinitionProblem.Code] {
            Self.inspect(
                """
                [{"route": "/a", "http_method": "GET", "function_name": "greet"},
                 {"route": "/a", "http_method": "\(method)", "function_name": "greet"}]
                """
            ).problems.map(\.code)
        }
        #expect(problems("GET") == [.nameDuplicate])
        #expect(problems("POST").isEmpty)
    }

    @Test func `an endpoint that created users warns of it`() {
        let inspection = Self.inspect(
            #"[{"route": "/a", "http_method": "GET", "function_name": "greet", "create_user_on_auth": true}]"#)
        #expect(inspection.problems.map(\.code) == [.fieldValue])
        #expect(inspection.definition.endpoints(at: "/a").count == 1)
    }

    private struct Unexpected: Error {
        let value: String
        init(_ value: some Any) { self.value = "\(value)" }
    }
}
