import AppDefinition
import DocumentModel
import Testing

@Suite struct ProblemTests {
    @Test func `a sound app has no problems`() {
        #expect(AppDefinition.inspect(AppFixture.files).problems.map(\.description) == [])
    }

    /// The file, the text that is replaced, its replacement, and what the warning names.
    @Test(arguments: [
        ("sync/config.json", "\"state\"", "\"stat\"", "'stat' is unknown: did you mean 'state'?"),
        ("functions/config.json", "\"private\"", "\"privat\"", "'private'"),
        ("triggers/", "\"disabled\"", "\"disabeld\"", "'disabled'"),
        ("data_sources/", "\"apply_when\"", "\"applyWhen\"", "'apply_when'"),
    ])
    func `a name that is similar to a known one gets a warning`(
        _ path: String, _ name: String, _ misspelled: String, _ warning: String
    ) throws {
        let file = try #require(
            AppFixture.files.texts.first { $0.key.text.hasPrefix(path) && $0.value.contains(name) },
            "no file of \(path) has \(name)")
        let problems = AppFixture.problems(file.key.text, file.value.replacing(name, with: misspelled))
        #expect(problems.contains { $0.description.contains(warning) && $0.file == file.key.text }, "\(problems)")
    }

    @Test func `an invalid state is an error`() throws {
        let text = try #require(AppFixture.files.texts["sync/config.json"])
        let problems = AppFixture.problems("sync/config.json", text.replacing("\"enabled\"", with: "\"enabeld\""))
        #expect(problems.contains { $0.severity == .error && $0.description.contains("/state") }, "\(problems)")
    }

    @Test func `a pattern without an equivalent in Postgres is a warning`() throws {
        let file = "data_sources/mongodb-atlas/Shop/Customer/schema.json"
        let problems = AppFixture.problems(
            file, #"{"properties": {"a": {"pattern": "^\\p{L}+$"}, "b": {"pattern": "^a"}}}"#)
        #expect(
            problems.filter { $0.code == .schemaPatternUncheckable }.map(\.description) == [
                #"\#(file):1 /properties/a/pattern: warning schema-pattern-uncheckable: Postgres can't match ^\p{L}+$ in the way clients' writes are matched: SQL that writes such a field is refused; write such documents by functions and clients, or simplify the pattern"#
            ])
    }

    /// The file, its text, and what the warning names: the part, and what to do.
    @Test(arguments: [
        (
            "auth/providers.json", #"{"oauth2-other": {"name": "oauth2-other", "type": "oauth2-other"}}"#,
            ["oauth2-other", "custom-token"]
        ),
        (
            "services/push/config.json", #"{"name": "push", "type": "gcm", "config": {}}"#,
            ["push", "gcm", "context.http"]
        ),
        ("services/mail/config.json", #"{"name": "mail", "type": "aws-ses", "config": {}}"#, ["send", "SendEmail"]),
        ("graphql/config.json", "{}", ["GraphQL", "data API"]),
        ("graphql/custom_resolvers/Query_a.json", #"{"on_type": "Query"}"#, ["GraphQL"]),
        ("log_forwarders/all.json", #"{"name": "all"}"#, ["log forwarders", "partita logs"]),
        ("functions/package.json", #"{"dependencies": {"axios": "1.0.0", "lodash": "4"}}"#, ["axios, lodash"]),
        ("functions/greet.js", "const a = require('axios');\nexports = () => a;\n", ["require(\"axios\")"]),
        ("secrets.json", #"{"services": {}}"#, ["partita secret set"]),
    ])
    func `an unsupported feature gets a warning with its name, its file and what to do`(
        file: String, text: String, words: [String]
    ) throws {
        let problem = try #require(AppFixture.problems(file, text).first { $0.code == .featureNotServed })
        #expect(problem.severity == .warning)
        #expect(problem.file == file)
        for word in words { #expect(problem.message.contains(word), "\(problem)") }
    }

    @Test(arguments: [
        (
            "auth/providers.json",
            #"{"oauth2-other": {"name": "oauth2-other", "type": "oauth2-other", "disabled": true}}"#
        ),
        (
            "auth/providers.json",
            #"{"oauth2-google": {"name": "oauth2-google", "type": "oauth2-google", "config": {"clientId": "x"}}}"#
        ),
        ("hosting/config.json", #"{"enabled": false}"#),
        ("hosting/config.json", #"{"enabled": true}"#), ("log_forwarders/a.txt", "{}"),
        ("services/web/config.json", #"{"name": "web", "type": "http", "config": {}}"#),
        ("services/mail/config.json", #"{"name": "mail", "type": "aws", "config": {}}"#),
        ("services/sms/config.json", #"{"name": "sms", "type": "twilio", "config": {}}"#),
        ("functions/greet.js", "// require('axios')\n/* require('axios') */\nexports = required => required;\n"),
    ])
    func `a disabled or supported feature is no problem`(file: String, text: String) {
        #expect(!AppFixture.problems(file, text).contains { $0.code == .featureNotServed })
    }

    @Test func `a trigger that sends to EventBridge is refused by name`() throws {
        let text =
            #"{"name": "nightly", "type": "SCHEDULED", "config": {"schedule": "0 3 * * *"}, "event_processors": {"AWS_EVENTBRIDGE": {"config": {}}}}"#
        let problem = try #require(AppFixture.problems("triggers/nightly.json", text).first)
        #expect(problem.code == .featureNotServed && problem.severity == .error)
        #expect(problem.message.contains("EventBridge"))
    }

    @Test func `of a file with very many problems some are told with their lines, and the others counted`() throws {
        // Each problem's line was once looked for in the whole file: of so many, for hours.
        let file = "http_endpoints/config.json"
        let text = "[" + Array(repeating: "{}", count: 50_000).joined(separator: ",\n") + "]"
        let problems = AppFixture.problems(file, text).filter { $0.file == file }
        #expect(problems.count == 201)
        for problem in problems.dropLast() {
            let index = try #require(problem.pointer.split(separator: "/").first.flatMap { Int($0) }, "\(problem)")
            #expect(problem.line == index + 1, "\(problem)")
        }
        let last = try #require(problems.last)
        #expect(last.severity == .error && last.message.hasPrefix("and "), "\(last)")
        #expect(last.message.contains("more problems of this file (with errors)"), "\(last)")
    }

    @Test func `an error beyond the problems that are told prevents the deployment`() {
        let file = "triggers/nightly.json"
        let commas = String(repeating: "[1,],\n", count: 500)
        let text = """
            {"name": "nightly", "type": "SCHEDULED", "config": {"schedule": "no"}, "function_name": "greet", "other": [\(commas) 1]}
            """
        let inspection = AppDefinition.inspect(AppFixture.files(file, text))
        #expect(!inspection.isDeployable)
        let last = inspection.problems.last { $0.file == file }
        #expect(last?.severity == .error && last?.code == .scheduleInvalid, "\(String(describing: last))")
        #expect(inspection.problems.first { $0.file == file }?.code == .jsonTrailingComma)
    }

    @Test func `a value on a later line than its key has the line of its own parts`() {
        let problems = AppFixture.problems(
            "triggers/nightly.json",
            """
            {"name": "nightly", "type": "SCHEDULED", "function_name": "greet", "config":
             {"skipped": [{"schedule": 1}, "}"],
              "schedule": "no"}}
            """)
        #expect(problems.first { $0.code == .scheduleInvalid }?.line == 3, "\(problems)")
    }

    @Test func `broken JSON is named with its line`() throws {
        let problems = AppFixture.problems(
            "triggers/nightly.json", "{\n  \"name\": \"nightly\",\n  \"type\": SCHEDULED\n}")
        let problem = try #require(problems.first)
        #expect(problem.code == .jsonInvalid && problem.file == "triggers/nightly.json" && problem.line == 3)
    }

    @Test func `a trigger's unknown function is named with file, pointer and line`() throws {
        let text = """
            {
              "name": "nightly",
              "type": "SCHEDULED",
              "config": {"schedule": "0 3 * * *"},
              "function_name": "gone"
            }
            """
        let problem = try #require(AppFixture.problems("triggers/nightly.json", text).first)
        #expect(problem.code == .functionUnknown && problem.pointer == "/function_name" && problem.line == 5)
        #expect(problem.description.hasPrefix("triggers/nightly.json:5 /function_name: error function-unknown:"))
    }

    @Test func `a broken rule is named with its place inside the expression`() throws {
        let text = """
            {"state": "enabled", "database_name": "Shop", "partition": {"key": "_partition", "type": "string",
              "permissions": {
                "read": {"%or": [{"%%partition": "%%user.id"}, {"%%partition": {"$like": "x"}}]},
                "write": {"%%me.id": "x"}
              }}}
            """
        let problems = AppFixture.problems("sync/config.json", text)
        #expect(problems.map(\.code) == [.ruleOperatorUnknown, .ruleExpansionUnknown])
        #expect(problems.first?.pointer == "/partition/permissions/read/%or/1/%%partition/$like")
        #expect(problems.map(\.line) == [3, 4])
    }

    @Test(arguments: [
        ("realm_config.json", nil, DefinitionProblem.Code.fileMissing),
        ("realm_config.json", "{\"config_version\": 20210101}", .fieldMissing),
        ("realm_config.json", "{\"config_version\": 19990101, \"app_id\": \"a\"}", .fieldValue),
        ("realm_config.json", "{\"config_version\": 20210101, \"app_id\": \"a/b\"}", .fieldValue),
        ("functions/config.json", "[{\"name\": \"lost\"}]", .functionSourceMissing),
        ("functions/other.js", "exports = () => 1", .functionNotConfigured),
        (
            "sync/config.json", "{\"state\": \"enabled\", \"database_name\": \"Shop\", \"partition\": {}}",
            .partitionKeyMissing
        ),
        ("sync/config.json", "{\"state\": \"enabled\", \"type\": \"flexible\"}", .syncTypeUnsupported),
        (
            "data_sources/mongodb-atlas/Shop/Customer/schema.json",
            "{\"bsonType\": \"object\", \"properties\": {\"a\": {\"bsonType\": \"text\"}}}", .schemaTypeUnsupported
        ),
        (
            "data_sources/mongodb-atlas/Shop/Customer/schema.json",
            "{\"bsonType\": \"object\", \"properties\": {\"_partition\": {\"bsonType\": \"objectId\"}}}",
            .partitionKeyTypeMismatch
        ),
        (
            "triggers/nightly.json",
            "{\"name\": \"n\", \"type\": \"SCHEDULED\", \"config\": {\"schedule\": \"0 3 31 2 *\"}, \"function_name\": \"greet\"}",
            .scheduleInvalid
        ),
        (
            "triggers/nightly.json",
            "{\"name\": \"n\", \"type\": \"SOMETIMES\", \"config\": {}, \"function_name\": \"greet\"}", .fieldValue
        ),
        (
            "triggers/second.json",
            "{\"name\": \"nightly\", \"type\": \"SCHEDULED\", \"config\": {\"schedule\": \"0 3 * * *\"}, \"function_name\": \"greet\"}",
            .nameDuplicate
        ),
        (
            "triggers/written.json",
            "{\"name\": \"w\", \"type\": \"DATABASE\", \"function_name\": \"greet\", \"config\": {\"database\": \"Shop\", \"operation_types\": [\"INSERT\"], \"match\": {\"a\": {\"$nope\": 1}}}}",
            .matchInvalid
        ),
        ("partita.json", "{\"presence\": {\"collection\": \"Nobody\", \"field\": \"presence\"}}", .collectionUnknown),
        (
            "triggers/written.json",
            "{\"name\": \"w\", \"type\": \"DATABASE\", \"function_name\": \"greet\", \"config\": {\"database\": \"Shop\", \"collection\": \"Nope\", \"operation_types\": [\"INSERT\"]}}",
            .collectionUnknown
        ),
        ("partita.json", "{\"presense\": {}}", .fieldValue),
        ("partita.json", "{\"presence\": {\"watch\": \"nobody\"}}", .fieldValue),
        ("partita.json", "{\"presence\": {\"watch\": true}}", .fieldValue),
        (
            "partita.json", "{\"presence\": {\"collection\": \"Customer\", \"field\": \"p\", \"onlin\": \"x\"}}",
            .fieldValue
        ),
        (
            "partita.json",
            "{\"media\": [{\"collection\": \"Customer\", \"field\": \"a\", \"linkField\": \"b\", \"thumbnailPixles\": 3}]}",
            .fieldValue
        ),
        ("functions/greet.js", "const x = 1;", .functionNotExported),
        (
            "auth/providers.json",
            "{\"local-userpass\": {\"type\": \"local-userpass\", \"config\": {\"autoConfirm\": \"yes\", \"resetPasswordUrl\": \"a\", \"emailConfirmationUrl\": \"b\"}}}",
            .fieldType
        ),
        (
            "auth/providers.json",
            "{\"custom-token\": {\"type\": \"custom-token\", \"config\": {\"useJWKURI\": 1, \"signingAlgorithm\": \"HS256\"}, \"secret_config\": {\"signingKeys\": [\"a\"]}}}",
            .fieldType
        ),
        (
            "auth/providers.json", #"{"oauth2-google": {"type": "oauth2-google", "config": {}}}"#, .fieldMissing
        ),
        (
            "auth/providers.json",
            #"{"oidc-a": {"name": "oidc-a", "type": "openid-connect", "config": {"clientId": "x", "issuer": "a"}}}"#,
            .fieldValue
        ),
        (
            "auth/providers.json",
            #"{"anon-user": {"name": "anon-user", "type": "openid-connect", "config": {"clientId": "x", "issuer": "https://a.example"}}}"#,
            .fieldValue
        ),
        (
            "auth/providers.json",
            #"{"oauth2-apple": {"type": "oauth2-apple", "config": {"clientId": "x"}, "redirect_uris": ["https://a.example/#x"]}}"#,
            .fieldValue
        ),
        (
            "auth/providers.json",
            #"{"oauth2-apple": {"type": "oauth2-apple", "config": {"clientId": "x"}, "redirect_uris": ["a:\r\nX: y"]}}"#,
            .fieldValue
        ),
        ("values/limit.json", "{\"name\": \"limit\"}", .fieldMissing),
        (
            "http_endpoints/config.json", "[{\"route\": \"/a\", \"function_name\": \"gone\"}]", .endpointNotServed
        ),
        (
            "auth/providers.json",
            "{\"local-userpass\": {\"type\": \"local-userpass\", \"config\": {\"runConfirmationFunction\": true, \"confirmationFunctionName\": \"gone\"}}}",
            .functionUnknown
        ),
    ])
    func `each mistake has its code and its file`(path: String, text: String?, code: DefinitionProblem.Code) {
        let problems = AppFixture.problems(path, text)
        #expect(problems.contains { $0.code == code && $0.file == path }, "\(problems)")
    }

    @Test func `media of a collection that doesn't sync are refused, of one whose sync is off named`() {
        var files = AppFixture.files
        files.texts["data_sources/mongodb-atlas/Other/Log/rules.json"] = #"{"roles": []}"#
        files.texts["partita.json"] = """
            {"media": [{"database": "Other", "collection": "Log", "field": "a", "linkField": "b"}]}
            """
        func severity() -> DefinitionProblem.Severity? {
            AppDefinition.inspect(files).problems.first { $0.code == .mediaUnreachable }?.severity
        }
        #expect(severity() == .error)
        files.texts["sync/config.json"] = files.texts["sync/config.json"]?.replacing("enabled", with: "disabled")
        #expect(severity() == .warning)
    }

    @Test func `all problems are reported at once`() {
        var files = AppFixture.files
        files.texts["functions/greet.js"] = nil
        files.texts["values/limit.json"] = "{"
        files.texts["partita.json"] = "[]"
        files.texts["auth/providers.json"] = "5"
        let error = #expect(throws: AppDefinitionError.self) { try AppDefinition(files: files) }
        #expect(Set(error?.problems.map(\.file) ?? []).count >= 4)
    }

    @Test func `a syntax check's finding is a problem of the function's file`() throws {
        let inspection = AppDefinition.inspect(AppFixture.files) { source, name in
            name == "greet" ? AppDefinition.SyntaxProblem(line: 1, message: "Unexpected token") : nil
        }
        let problem = try #require(inspection.problems.first { $0.severity == .error })
        #expect(problem.code == .functionSyntax && problem.file == "functions/greet.js" && problem.line == 1)
        #expect(!inspection.isDeployable)
    }

    @Test func `what a syntax check finds past the end is on the last line`() throws {
        for source in ["exports = function( {", "exports = function( {\n"] {
            let inspection = AppDefinition.inspect(AppFixture.files("functions/greet.js", source)) { _, name in
                name == "greet" ? AppDefinition.SyntaxProblem(line: 2, message: "Unexpected end of script") : nil
            }
            let problem = try #require(inspection.problems.first { $0.severity == .error })
            #expect(problem.code == .functionSyntax && problem.line == 1)
        }
    }

    @Test(arguments: [
        ("exports = () => 1", true), ("const f = () => 1;\nexports=f", true), ("exports\n  = async () => 1", true),
        ("/* old */ exports = function() {}", true), ("const u = \"https://a\"; exports = f", true),
        ("/**\n * exports = x\n */\nexports = x", true), ("", false), ("// exports = f", false),
        ("/*\nexports = f\n*/", false), ("module.exports = f", false), ("exports == f", false),
        ("myexports = f", false),
        ("exports.f = 1", false),
    ])
    func `a function's file assigns its function to exports`(source: String, isSound: Bool) {
        let problems = AppFixture.problems("functions/greet.js", source)
        #expect(problems.contains { $0.code == .functionNotExported } != isSound)
    }

    @Test func `a trigger of a collection that nothing else names is served, with a warning`() {
        var files = AppFixture.files(
            "triggers/written.json",
            """
            {"name": "written", "type": "DATABASE", "function_name": "greet",
             "config": {"database": "Shop", "collection": "Log", "operation_types": ["INSERT"]}}
            """)
        let inspection = AppDefinition.inspect(files)
        #expect(inspection.problems.map { "\($0.severity) \($0.code.rawValue)" } == ["warning collection-unknown"])
        #expect(inspection.isDeployable)
        files.texts["functions/greet.js"] = "exports = () => context.services.get('m').db('Shop').collection('Log')"
        #expect(!AppDefinition.inspect(files).problems.contains { $0.code == .collectionUnknown })
    }

    /// The file, the text that is replaced, its replacement, and what the warning says.
    @Test(arguments: [
        ("triggers/written.json", "Shop", "Shpo", ["/config/collection", "no collection Shpo.Customer"]),
        (
            "triggers/written.json", "\"Shop\", \"collection\": \"Customer\"", "\"Shpo\"",
            ["/config/database", "no collection in Shpo"]
        ),
        ("auth/custom_user_data.json", "Customer", "Custmer", ["/collection_name", "no collection Shop.Custmer"]),
        ("auth/custom_user_data.json", "userId", "usrId", ["/user_id_field", "no field usrId"]),
        ("sync/config.json", "\"Shop\"", "\"Shpo\"", ["syncs-nothing", "no collection of Shpo", "in Shop"]),
        ("sync/config.json", "\"_partition\"", "\"_partiton\"", ["syncs-nothing", "the partition key _partiton"]),
    ])
    func `a name that leads nowhere gets a warning`(
        _ file: String, _ name: String, _ misspelled: String, _ says: [String]
    ) throws {
        let text = try #require(AppFixture.files.texts[file])
        #expect(text.contains(name))
        let problems = AppFixture.problems(file, text.replacing(name, with: misspelled)).filter {
            // What follows from it elsewhere: nothing else is synced then.
            $0.file == file
        }
        #expect(problems.count == 1 && problems.allSatisfy { $0.severity == .warning }, "\(problems)")
        for words in says { #expect(problems.first?.description.contains(words) == true, "\(problems)") }
    }

    @Test func `a stored definition that is no longer sound denies instead of vanishing`() throws {
        let files = AppFixture.files(
            "sync/config.json",
            """
            {"state": "enabled", "database_name": "Shop", "partition": {"key": "_partition", "type": "string",
              "permissions": {"read": {"%%nobody": 1}, "write": true}}}
            """)
        let app = try AppDefinition(stored: files.document)
        #expect(app.sync?.read.source == false)
        #expect(app.sync?.write.source == true)
    }
}
