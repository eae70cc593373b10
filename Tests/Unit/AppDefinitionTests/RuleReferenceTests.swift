import AppDefinition
import Testing

/// What rules ask of their context and never get is named.
struct RuleReferenceTests {
    private func problems(_ change: (inout AppFiles) -> Void) -> [String] {
        var files = AppFixture.files
        change(&files)
        return AppDefinition.inspect(files).problems.filter {
            [.valueUnknown, .partShadowed, .fieldValue].contains($0.code)
        }
        .map { "\($0.file):\($0.line ?? 0) \($0.severity) \($0.message)" }
    }

    private func problems(ofRole role: String) -> [String] {
        problems {
            $0.texts["values/secretly.json"] = #"{"name": "secretly", "value": "s", "from_secret": true}"#
            $0.texts["values/open.json"] = #"{"name": "open", "value": 1, "from_secret": false}"#
            $0.texts["environments/production.json"] = #"{"values": {"region": "eu"}}"#
            $0.texts["data_sources/mongodb-atlas/Shop/Extra/rules.json"] = "{\"roles\": [\n\(role)]}"
        }
    }

    @Test(arguments: [
        (#"{"a": "%%values.nope"}"#, "%%values.nope", "no value of this name"),
        (#"{"%%values.secretly": "x"}"#, "%%values.secretly", "is a secret"),
        (#"{"a": "%%environment.values.zz"}"#, "%%environment.values.zz", "no environment"),
        (#"{"a": "%%environment.name"}"#, "%%environment.name", "tag and values"),
        (#"{"a": "%%user.nope"}"#, "%%user.nope", "custom_data"), (#"{"a": "%%args.x"}"#, "%%args.x", "no %%args"),
        (#"{"%%partition": "x"}"#, "%%partition", "no %%partition"),
    ])
    func `a name that can't exist is a warning with its line`(rule: String, name: String, reason: String) {
        for role in [
            #"{"name": "r", "apply_when": \#(rule), "read": true}"#,
            #"{"name": "r", "apply_when": {}, "fields": {"a": {"read": \#(rule)}}}"#,
            #"{"name": "r", "apply_when": {}, "read": true, "document_filters": {"read": \#(rule)}}"#,
        ] {
            let found = problems(ofRole: role)
            #expect(found.count == 1, "\(found)")
            #expect(
                found.first?.hasPrefix("data_sources/mongodb-atlas/Shop/Extra/rules.json:2 warning \(name) ") == true)
            #expect(found.first?.contains(reason) == true, "\(found)")
        }
    }

    @Test func `what exists isn't warned of`() {
        let rule = """
            {"a": "%%values.open", "b": "%%environment.tag", "c": "%%environment.values.region", "d": "%%user.custom_data.x",
             "%%root.e": "%%prevRoot.e", "%%request.remoteIPAddress": "x", "%%user.id": "%%true"}
            """
        #expect(problems(ofRole: #"{"name": "r", "apply_when": \#(rule), "read": true}"#).isEmpty)
    }

    @Test func `permissions of partitions are about no document`() {
        let found = problems {
            $0.texts["sync/config.json"] = """
                {"state": "enabled", "service_name": "mongodb-atlas", "database_name": "Shop", "partition": {
                 "key": "owner", "type": "string", "permissions": {"read": {"owner": "%%user.id"}, "write": false}}}
                """
        }
        #expect(found.count == 1 && found[0].contains("sync/config.json:2 warning %%root.owner "), "\(found)")
    }

    @Test(arguments: [
        ("functions/config.json", #"[{"name": "f","#, "}]"), ("http_endpoints/data_api_config.json", "{", "}"),
    ])
    func `rules that admit a caller have neither a document nor arguments`(file: String, begin: String, end: String) {
        let found = problems {
            $0.texts["functions/f.js"] = "exports = function () {};"
            $0.texts[file] =
                begin + "\n\"can_evaluate\": {\"%%args.a\": 1,\n\"owner\": \"%%user.nope\", \"%%user.id\": \"x\"}" + end
        }
        #expect(found.contains { $0.hasPrefix("\(file):2 warning %%args.a ") }, "\(found)")
        #expect(found.contains { $0.hasPrefix("\(file):3 warning %%root.owner ") }, "\(found)")
        #expect(found.contains { $0.hasPrefix("\(file):3 warning %%user.nope ") }, "\(found)")
        #expect(found.count == 3, "\(found)")
    }

    @Test func `a role whose condition has another name applies to nobody`() {
        let found = problems(ofRole: #"{"name": "r", "applyWhen": {"owner": "%%user.id"}, "read": true}"#)
        #expect(found.count == 1 && found[0].contains("applies to nobody"), "\(found)")
    }

    @Test func `what only an unused root file says is named`() {
        let found = problems {
            $0.texts["sync/config.json"] = nil
            $0.texts["auth/custom_user_data.json"] = nil
            $0.texts["config.json"] = """
                {"app_id": "other-abcde", "name": "shop",
                 "custom_user_data_config": {"enabled": true, "database_name": "d", "collection_name": "c",
                                             "user_id_field": "u"}}
                """
        }
        #expect(found.count == 2 && found.allSatisfy { $0.contains("realm_config.json is used") }, "\(found)")
    }
}
