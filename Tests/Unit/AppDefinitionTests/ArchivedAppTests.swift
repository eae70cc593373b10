import AppDefinition
import DocumentModel
import Testing

/// Apps from archives.
struct ArchivedAppTests {
    private func files(_ texts: [String: String]) throws -> AppFiles {
        try files(texts.sorted { $0.key < $1.key }.map { .init(path: $0.key, bytes: Array($0.value.utf8)) })
    }

    private func files(_ files: [AppFiles.ArchivedFile]) throws -> AppFiles {
        try AppFiles(archived: files, in: AppFiles.root(inArchive: files.map(\.path), name: "app.zip"))
    }

    @Test(arguments: ["", "./", "app/", "repository/backend/"])
    func `an app is found in the folder of the archive that has it`(prefix: String) throws {
        var texts = Dictionary(
            uniqueKeysWithValues: TinyApp.newer.paths.map { (prefix + $0, TinyApp.newer[$0] ?? "") })
        texts["repository/package.json"] = "{"
        texts["repository/ios/config/config.json"] = "{"
        #expect(try files(texts) == TinyApp.newer)
    }

    @Test(arguments: ["", "app/"])
    func `an app without a root file is found by its folders`(prefix: String) throws {
        let texts = Dictionary(
            uniqueKeysWithValues: TinyApp.older.paths.filter { $0 != "config.json" }.map {
                (prefix + $0, TinyApp.older[$0] ?? "")
            })
        #expect(try files(texts).paths.count == TinyApp.older.paths.count - 1)
    }

    @Test(arguments: ["/realm_config.json", "../realm_config.json", "app/../../functions/a.js"])
    func `a path that leads out of the archive is refused`(path: String) throws {
        let error = #expect(throws: AppDefinitionError.self) {
            try files([path: "{}", "realm_config.json": "{}"])
        }
        #expect(error?.problems.map(\.file) == [path])
    }

    @Test func `a path with an empty part, or one that leads up, is astray, and one of a folder isn't`() {
        for path in [
            "/a.js", "a//b.js", "a/./b.js", "a/../b.js", "a/..", "..", ".", "", "/", "././a.js", "a//", ".//a.js",
            "functions/../../../../root/.ssh/authorized_keys", "functions/node_modules/../../x", "a/é/../b",
        ] {
            #expect(AppFiles.isAstray(archived: path), "\(path)")
            #expect(!AppFiles.isPlain(path: path), "\(path)")
        }
        for path in ["a.js", "a/b.js", "a/..b/c..", "a/.git/...", ".mdb/meta.json"] {
            #expect(!AppFiles.isAstray(archived: path) && AppFiles.isPlain(path: path), "\(path)")
            #expect(!AppFiles.isAstray(archived: "./" + path) && !AppFiles.isAstray(archived: path + "/"), "\(path)")
        }
    }

    @Test func `packages of an archive aren't kept outside of their folder`() {
        for path in ["functions/node_modules/../../x", "functions/node_modules/a/../../../../x.js"] {
            var files = AppFiles()
            let error = #expect(throws: AppDefinitionError.self) {
                try files.addPackages([
                    .init(path: "functions/node_modules/a/index.js", bytes: []), .init(path: path, bytes: [1]),
                ])
            }
            #expect(error?.problems.map(\.file) == [path])
            #expect(files.otherFiles.isEmpty && files.packages == .none)
        }
    }

    @Test func `an archive without an app is refused by its name`() throws {
        let error = #expect(throws: AppDefinitionError.self) { try files(["readme/package.json": "{}"]) }
        #expect(error?.code == .appNotFound && error?.message.contains("app.zip") == true)
    }

    @Test func `a file that is too large or isn't text is refused by its name`() throws {
        for bytes in [[UInt8](repeating: 32, count: (4 << 20) + 1), [0xFF, 0xFE]] {
            let inspection = AppDefinition.inspect(
                try files([
                    .init(path: "realm_config.json", bytes: Array("{".utf8)),
                    .init(path: "values/a.json", bytes: bytes),
                ]))
            // It doesn't hide what is wrong with others.
            #expect(
                inspection.problems.filter { $0.severity == .error }.map(\.file) == [
                    "realm_config.json", "values/a.json",
                ])
        }
    }

    @Test func `files that nothing reads are kept, links are named, and so is a second app`() throws {
        let files = try AppFiles(
            archived: [
                .init(path: "one/realm_config.json", bytes: Array("{}".utf8)),
                .init(path: "one/functions/README.md", bytes: [0xFF]), .init(path: "one/README.md", bytes: []),
                .init(path: "other/app/stitch.json", bytes: Array("{}".utf8)),
            ], links: [("one/functions/a.js", "../a.js"), ("two", "one")], in: "one/")
        #expect(files.otherFiles == ["functions/README.md": [0xFF]])
        #expect(files.problems.map(\.code) == [.linkNotFollowed, .partShadowed])
        #expect(files.problems[0].file == "functions/a.js" && files.problems[0].message.contains("link to ../a.js"))
        #expect(files.problems[1].message.contains("a second app, in other/app/"))
        #expect(files.original.map(\.path) == ["functions/README.md", "realm_config.json"])
    }

    @Test func `a link may stand for a folder of an app`() {
        for path in [
            "functions/", "a/functions/", "functions/node_modules/", "a/functions/node_modules/", "hosting/files/",
        ] {
            #expect(AppFiles.mayKeep(archived: path), "\(path)")
        }
        for path in ["functions", "node_modules/", "src/", "functions/node_modules/a/"] {
            #expect(!AppFiles.mayKeep(archived: path), "\(path)")
        }
    }

    @Test func `a path has few parts, and each of them may be the folder of an app`() throws {
        let deep = String(repeating: "a/", count: 63) + "realm_config.json"
        #expect(AppFiles.mayRead(archived: deep) && AppFiles.mayKeep(archived: deep))
        #expect(AppFiles.isTooLong(archived: "a/" + deep) && !AppFiles.mayKeep(archived: "a/" + deep))
        for path in ["auth/.git/auth/a.js", "a/hosting/metadata.json", "x/.mdb/meta.json", ".git/functions/a.js"] {
            #expect(AppFiles.mayRead(archived: path) && AppFiles.mayKeep(archived: path), "\(path)")
        }
        for path in [
            "Functions/a.js", "a/hosting/files/a.html", "hosting/files/a/node_modules/b.js", "auth/.git/auth/a.txt",
        ] {
            #expect(!AppFiles.mayRead(archived: path) && AppFiles.mayKeep(archived: path), "\(path)")
        }
        for path in [
            "functions/.git/a.js", "hosting/files/.git/a.js", "functions/node_modules/hosting/files/a.html", "auth",
            "hosting", "Functions/a.txt", "Functions/.idea/a.js", "functions/node_modules/realm_config.json",
        ] {
            #expect(!AppFiles.mayRead(archived: path) && !AppFiles.mayKeep(archived: path), "\(path)")
        }
        let folders = "functions/" + String(repeating: "a/", count: 63)
        let files = try AppFiles(
            archived: [.init(path: "realm_config.json", bytes: Array("{}".utf8))], long: [folders + "a.js"], in: "")
        #expect(files.problems.map(\.file) == [folders + "a.js"])
        #expect(files.problems.first?.message.contains("64 parts") == true)
    }

    @Test func `a file that an archive has twice is named`() throws {
        let files = try AppFiles(
            archived: [
                .init(path: "realm_config.json", bytes: Array("{}".utf8)),
                .init(path: "hosting/files/a.html", bytes: [1]), .init(path: "hosting/files/a.html", bytes: [2]),
                .init(path: "values/a.json", bytes: Array("1".utf8)),
                .init(path: "values/a.json", bytes: Array("2".utf8)),
            ], in: "")
        #expect(files.problems.map(\.file) == ["hosting/files/a.html", "values/a.json"])
        #expect(files.problems.allSatisfy { $0.code == .partShadowed && $0.severity == .warning })
        #expect(files["values/a.json"] == "2" && files.otherFiles["hosting/files/a.html"] == [2])
    }

    @Test func `a file whose path is too long is named, if the app would read or keep it`() throws {
        let folders = String(repeating: "deeper/", count: 150)
        let paths = ["functions/", "hosting/files/", "elsewhere/", "functions/node_modules/"].map {
            $0 + folders + "a.js"
        }
        let within = String(repeating: "d", count: 1024)
        #expect(paths.allSatisfy { AppFiles.isTooLong(archived: $0) } && !AppFiles.isTooLong(archived: within))
        #expect(!AppFiles.mayKeep(archived: paths[0]) && !AppFiles.mayRead(archived: paths[0]))
        let files = try AppFiles(
            archived: [.init(path: "one/realm_config.json", bytes: Array("{}".utf8))],
            long: (paths + ["other/" + paths[0]]).map { "one/" + $0 } + ["two/" + paths[0]], in: "one/")
        #expect(files.problems.map(\.file) == Array(paths[..<2]))
        #expect(files.problems.allSatisfy { $0.code == .fileUnreadable && $0.message.contains("1024 bytes") })
    }
}
