import AppDefinition
import DocumentModel
import Testing

/// Services of AWS and Twilio in an export.
struct VendorServiceTests {
    private static let aws = """
        {"name": "AWS", "type": "aws", "config": {"accessKeyId": "AKIA"},
         "secret_config": {"secretAccessKey": "awsSecret"}}
        """
    private static let rule = """
        {"name": "s3", "actions": ["s3:PutObject", "ses:*"],
         "when": {"%%args.Bucket": {"%in": ["a", "b"]}}}
        """

    private func inspect(_ more: [String: String]) -> AppDefinition.Inspection {
        var files = AppFixture.files
        for (file, text) in more { files.texts[file] = text }
        return AppDefinition.inspect(files)
    }

    /// The problems as `file:line code`, of these parts of the export.
    private func problems(_ more: [String: String]) -> [String] {
        inspect(more).problems.filter { more.keys.contains($0.file) }
            .map { "\($0.file)\($0.line.map { ":\($0)" } ?? "") \($0.code.rawValue)" }
    }

    @Test(arguments: ["services", "data_sources"])
    func `a service is read with its rules and its secret, in both layouts`(folder: String) throws {
        let more = ["\(folder)/AWS/config.json": Self.aws, "\(folder)/AWS/rules/s3.json": Self.rule]
        #expect(problems(more) == [])
        let definition = inspect(more).definition
        let source = try #require(definition.dataSources.first { $0.name == "AWS" })
        #expect(source.kind == .aws && source.rules.map(\.name) == ["s3"])
        let rule = try #require(source.rules.first)
        #expect(rule.covers("s3:PutObject") && rule.covers("ses:SendEmail"))
        #expect(!rule.covers("s3:GetObject") && !rule.covers("sns:PutObject"))
        #expect(definition.secretUses.contains { $0.name == "awsSecret" && $0.uses == ["service AWS"] })
        let report = AppReport(definition, problems: inspect(more).problems)
        #expect(report.served.contains { $0.feature == "services" && $0.text == "AWS (aws)" })
        #expect(!report.unserved.contains { $0.feature == "services" })
    }

    @Test func `what isn't served of AWS is named, with file and line`() {
        let found = problems([
            "services/AWS/config.json": Self.aws,
            "services/AWS/rules/all.json":
                "{\"name\": \"all\", \"actions\": [\n\"s3:*\",\n\"polly:SynthesizeSpeech\",\n\"s3:ListBuckets\", \"s3:PresignURL\"]}",
            "functions/greet.js":
                "exports = () => {\n  const aws = context.services.get('AWS');\n  return aws.ec2('eu-west-1').RunInstances({});\n};\nconst f = s3 => s3.DeleteObjects({}), g = s3 => s3.PutObject({});",
        ])
        #expect(
            found == [
                "functions/greet.js:3 feature-not-served", "functions/greet.js:5 feature-not-served",
                "services/AWS/rules/all.json:3 feature-not-served", "services/AWS/rules/all.json:4 feature-not-served",
            ])
    }

    @Test func `an action that a service doesn't have is named, with file and line`() {
        let found = problems([
            "services/web/config.json": #"{"name": "web", "type": "http", "config": {}}"#,
            "services/web/rules/r.json":
                "{\"name\": \"r\", \"actions\": [\"get\", \"head\",\n\"fetch\", \"GET\"], \"when\": {}}",
            "services/phone/config.json":
                #"{"name": "phone", "type": "twilio", "config": {"sid": "a"}, "secret_config": {"auth_token": "t"}}"#,
            "services/phone/rules/r.json":
                "{\"name\": \"r\", \"actions\": [\"send\",\n\"call\"], \"when\": {}}",
        ])
        #expect(
            found == [
                "services/phone/rules/r.json:2 field-value", "services/web/rules/r.json:2 field-value",
                "services/web/rules/r.json:2 field-value",
            ])
    }

    @Test func `a service that nobody can call as it is gets a warning`() {
        #expect(
            problems(["services/sms/config.json": #"{"name": "sms", "type": "twilio", "config": {"sid": "AC"}}"#]) == [
                "services/sms/config.json:1 field-missing", "services/sms/config.json:1 service-without-rules",
            ])
        let rule = #"{"name": "r", "actions": ["send"], "when": {"%%true": {"%function": {"name": "gone"}}}}"#
        let clear = #"{"name": "sms", "type": "twilio", "config": {"sid": "AC", "auth_token": "hunter2"}}"#
        let found = inspect(["services/sms/config.json": clear, "services/sms/rules/r.json": rule]).problems
        #expect(found.contains { $0.file == "services/sms/rules/r.json" && $0.code == .functionUnknown })
        #expect(found.contains { $0.file == "services/sms/config.json" && $0.code == .secretInClear })
        #expect(!found.contains { $0.message.contains("hunter2") })
    }

    @Test func `partita.json says where a service is reached`() throws {
        func inspected(_ text: String) -> AppDefinition.Inspection {
            inspect([
                "services/AWS/config.json": Self.aws, "services/AWS/rules/s3.json": Self.rule, "partita.json": text,
            ])
        }
        let good = inspected(
            #"{"services": {"AWS": {"endpoint": "https://[::1]:1", "endpoints": {"s3": "http://minio:9000/"}}}}"#)
        #expect(good.isDeployable)
        let source = try #require(good.definition.dataSources.first { $0.name == "AWS" })
        #expect(source.endpoints == ["": "https://[::1]:1", "s3": "http://minio:9000"])
        for bad in [
            #"{"AWS": {"endpoint": "minio:9000"}}"#, #"{"AWS": {"endpoint": "http://a@b"}}"#,
            #"{"AWS": {"endpoint": "http://a/b"}}"#, #"{"AWS": {"endpoints": {"polly": "http://a"}}}"#,
            #"{"AWS": {"url": "http://a"}}"#, #"{"Gone": {"endpoint": "http://a"}}"#,
            #"{"mongodb-atlas": {"endpoint": "http://a"}}"#,
        ] {
            let found = inspected("{\"services\": \(bad)}").problems.filter { $0.severity == .error }
            #expect(found.map(\.file) == ["partita.json"], "\(bad): \(found)")
        }
    }
}
