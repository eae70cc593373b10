import AppDefinition
import DocumentModel
import Testing

/// `hosting/config.json`, `hosting/metadata.json` and `hosting/files`.
struct HostingTests {
    private func inspect(
        _ settings: String, metadata: String? = nil, files hosted: [String: [UInt8]] = ["index.html": [0x61]]
    ) -> AppDefinition.Inspection {
        var files = AppFixture.files
        files.texts["hosting/config.json"] = settings
        files.texts["hosting/metadata.json"] = metadata
        for (path, bytes) in hosted { files.otherFiles[ExactText("hosting/files/" + path)] = bytes }
        return AppDefinition.inspect(files)
    }

    @Test(
        arguments: [
            (#"{"enabled": true}"#, nil, 404),
            (
                #"{"enabled": true, "default_error_path": "/index.html", "default_response_code": 200}"#, "index.html",
                200
            ),
            (#"{"enabled": true, "default_error_path": "index.html", "default_error_code": "404"}"#, "index.html", 404),
            (#"{"enabled": true, "default_error_path": "", "default_error_code": ""}"#, nil, 404),
            (#"{"enabled": true, "app_default_domain": "a.mongodbstitch.com", "custom_domain": ""}"#, nil, 404),
        ] as [(String, String?, Int)])
    func `settings as exports have them are read`(_ settings: String, _ path: String?, _ status: Int) throws {
        let inspection = inspect(settings)
        let problems = inspection.problems.map { "\($0.code.rawValue) \($0.pointer)" }
        // Its address is another one.
        let expected = settings.contains("app_default_domain") ? ["field-unused /app_default_domain"] : []
        #expect(problems == expected, "\(inspection.problems)")
        let hosting = try #require(inspection.definition.hosting)
        #expect(hosting.errorPath?.text == path && hosting.errorStatus == status)
    }

    @Test func `hosting is enabled in the file of its own, or else in the root file`() {
        var files = AppFixture.files
        files.texts["realm_config.json"] =
            #"{"config_version": 20210101, "app_id": "shop", "name": "shop", "hosting": {"enabled": true}}"#
        #expect(AppDefinition.inspect(files).definition.hosting != nil)
        files.texts["hosting/config.json"] = #"{"enabled": false}"#
        #expect(AppDefinition.inspect(files).definition.hosting == nil)
    }

    @Test func `metadata are the fields that Atlas had`() throws {
        let inspection = inspect(
            #"{"enabled": true}"#,
            metadata: """
                [{"path": "/index.html", "attrs": [{"name": "content-type", "value": "text/x"}, {"name": "X-Mine", "value": "1"}]},
                 {"path": "/a", "attrs": [{"name": "Website-Redirect-Location", "value": "https://example.com/a"}]},
                 {"path": "/b", "attrs": null}]
                """)
        #expect(
            inspection.problems.map { "\($0.severity.rawValue) \($0.code.rawValue) \($0.file) \($0.pointer)" } == [
                "warning field-value hosting/metadata.json /0/attrs/1/name",
                "warning file-missing hosting/metadata.json /1/path",
                "warning file-missing hosting/metadata.json /2/path",
            ])
        let hosting = try #require(inspection.definition.hosting)
        #expect(hosting.attributes["index.html"]?.header("Content-Type") == "text/x")
        #expect(hosting.attributes["a"]?.redirect == "https://example.com/a")
        let text = AppReport(inspection.definition, problems: inspection.problems, hostingPlace: "at https://x").lines
        #expect(text.contains { $0.contains("hosting") && $0.contains("1 file, 1 KiB, at https://x") }, "\(text)")
    }

    @Test(arguments: [
        (#"{"enabled": true, "default_response_code": 99}"#, "[]", "hosting/config.json /default_response_code"),
        (#"{"enabled": true, "default_error_code": "no"}"#, "[]", "hosting/config.json /default_error_code"),
        (
            #"{"enabled": true}"#,
            #"[{"path": "/a", "attrs": [{"name": "Content-Type", "value": "a\r\nSet-Cookie: b"}]}]"#,
            "hosting/metadata.json /0/attrs/0/value"
        ),
        (
            #"{"enabled": true}"#,
            #"[{"path": "/a", "attrs": [{"name": "Website-Redirect-Location", "value": "javascript:alert(1)"}]}]"#,
            "hosting/metadata.json /0/attrs/0/value"
        ),
        (
            #"{"enabled": true}"#,
            #"[{"path": "/a", "attrs": [{"name": "Website-Redirect-Location", "value": "//evil.example"}]}]"#,
            "hosting/metadata.json /0/attrs/0/value"
        ),
        (#"{"enabled": true}"#, "{}", "hosting/metadata.json "),
    ])
    func `what can't be served is an error at its place`(_ settings: String, _ metadata: String, _ place: String) {
        let errors = inspect(settings, metadata: metadata).problems.filter { $0.severity == .error }
        #expect(errors.map { "\($0.file) \($0.pointer)" } == [place])
    }

    @Test func `a page for missing files that is missing itself is named`() throws {
        let problems = inspect(#"{"enabled": true, "default_error_path": "/404.html"}"#).problems
        let problem = try #require(problems.first)
        #expect(problem.code == .fileMissing && problem.severity == .warning)
        #expect(problem.message.contains("hosting/files/404.html"))
    }

    @Test func `a file above the limit is passed over by its name, and the rest is deployed`() throws {
        let texts = AppFixture.files.texts.map { AppFiles.ArchivedFile(path: $0.key.text, bytes: Array($0.value.utf8)) }
        let settings = AppFiles.ArchivedFile(path: "hosting/config.json", bytes: Array(#"{"enabled": true}"#.utf8))
        func files(_ count: Int, large: [String] = []) throws -> AppFiles {
            let film = [UInt8](repeating: 0, count: count)
            return try AppFiles(
                archived: texts + [
                    settings, .init(path: "hosting/files/film.mp4", bytes: film),
                    .init(path: "hosting/files/index.html", bytes: [1]),
                ], large: large, in: "")
        }
        let inspection = AppDefinition.inspect(
            try files(Hosting.fileLimit + 1, large: ["hosting/files/other.mp4", "functions/node_modules.zip"]))
        #expect(inspection.isDeployable)
        #expect(
            inspection.problems.map { "\($0.file) \($0.code.rawValue)" } == [
                "functions/node_modules.zip file-not-kept", "hosting/files/film.mp4 file-too-large",
                "hosting/files/other.mp4 file-too-large",
            ], "\(inspection.problems)")
        #expect(inspection.problems.dropFirst().allSatisfy { $0.message.contains("\(Hosting.fileLimit)") })
        #expect(inspection.definition.files.otherFiles.keys.sorted() == ["hosting/files/index.html"])
        #expect(AppDefinition.inspect(try files(Hosting.fileLimit)).problems.isEmpty)
        let refused = AppDefinition.inspect(try files(1, large: ["triggers/nightly.json"]))
        #expect(!refused.isDeployable)
    }

    @Test func `files that together exceed the limit are refused by name`() throws {
        let texts = AppFixture.files.texts.map { AppFiles.ArchivedFile(path: $0.key.text, bytes: Array($0.value.utf8)) }
        let large = [UInt8](repeating: 0, count: 20 << 20)
        let files = try AppFiles(
            archived: texts + [
                .init(path: "hosting/config.json", bytes: Array(#"{"enabled": true}"#.utf8))
            ] + (1...4).map { .init(path: "hosting/files/\($0).bin", bytes: large) }, in: "")
        let errors = AppDefinition.inspect(files).problems.filter { $0.severity == .error }
        #expect(errors.map(\.code) == [.fileTooLarge])
        #expect(errors.first?.file == "hosting/files/4.bin")
    }

    @Test func `scripts of packages are hosted, hidden files aren't`() {
        #expect(Hosting.path(ofFile: "hosting/files/node_modules/a.js") == "node_modules/a.js")
        #expect(Hosting.path(ofFile: "hosting/files/.well-known/a") == ".well-known/a")
        for file in ["hosting/files/.env", "hosting/files/a/.git/config", "hosting/config.json", "hosting/files/"] {
            #expect(Hosting.path(ofFile: file) == nil, "\(file)")
        }
        #expect(AppFiles.mayKeep(archived: "x/hosting/files/node_modules/a/b.js"))
        #expect(!AppFiles.mayKeep(archived: "x/functions/node_modules/a/b.js"))
    }
}
