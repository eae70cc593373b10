import AppDefinition
import DocumentModel
import Foundation
import Testing

struct PackageTests {
    private func folder(_ files: [String: String]) throws -> String {
        let root = NSTemporaryDirectory() + UUID().uuidString
        for (path, text) in files {
            let place = URL(fileURLWithPath: root + "/" + path)
            try FileManager.default.createDirectory(
                at: place.deletingLastPathComponent(), withIntermediateDirectories: true)
            try Data(text.utf8).write(to: place)
        }
        return root
    }

    @Test func `a folder's packages are its modules of JavaScript and JSON`() throws {
        let root = try folder([
            "functions/node_modules/a/index.js": "1", "functions/node_modules/a/package.json": "{}",
            "functions/node_modules/@s/b/lib/x.cjs": "2", "functions/node_modules/a/README.md": "no",
            "functions/node_modules/.bin/a.js": "no", "functions/node_modules/.package-lock.json": "no",
            "functions/node_modules/a/node_modules/c/i.mjs": "3", "node_modules/d/index.js": "no",
        ])
        try FileManager.default.createSymbolicLink(
            atPath: root + "/functions/node_modules/a/link.js", withDestinationPath: "/etc/hostname")
        defer { try? FileManager.default.removeItem(atPath: root) }
        var files = AppFiles()
        try files.readPackages(folder: root)
        let packages = files.packages
        #expect(
            packages.texts == [
                "a/index.js": "1", "a/package.json": "{}", "@s/b/lib/x.cjs": "2", "a/node_modules/c/i.mjs": "3",
            ])
        #expect(try AppPackages(document: packages.document) == packages)
        #expect(
            Set(files.otherFiles.keys) == [
                "functions/node_modules/a/README.md", "functions/node_modules/.package-lock.json",
            ])
        #expect(files.problems.map(\.code) == [.linkNotFollowed])
        #expect(files.problems.map(\.file) == ["functions/node_modules/a/link.js"])
        var none = AppFiles()
        try none.readPackages(folder: "/nowhere")
        #expect(none.packages == .none)
        #expect(throws: AppDefinitionError.self) { try AppPackages(document: ["a": 1]) }
    }

    @Test func `packages that are links, as pnpm makes them, are found with what they require`() throws {
        let store = "functions/node_modules/.pnpm"
        let root = try folder([
            "\(store)/a@1/node_modules/a/index.js": "a", "\(store)/b@1/node_modules/b/index.js": "b",
            "\(store)/c@1/node_modules/@s/c/index.js": "c", "\(store)/c@2/node_modules/@s/c/index.js": "c2",
        ])
        defer { try? FileManager.default.removeItem(atPath: root) }
        func link(_ path: String, _ target: String) throws {
            let place = URL(fileURLWithPath: "\(root)/\(path)")
            try FileManager.default.createDirectory(
                at: place.deletingLastPathComponent(), withIntermediateDirectories: true)
            try FileManager.default.createSymbolicLink(atPath: place.path, withDestinationPath: target)
        }
        try link("functions/node_modules/a", ".pnpm/a@1/node_modules/a")
        try link("functions/node_modules/@s/c", "../.pnpm/c@2/node_modules/@s/c")
        // a requires b and the older c; b requires a, and the same c as a.
        try link("\(store)/a@1/node_modules/b", "../../b@1/node_modules/b")
        try link("\(store)/a@1/node_modules/@s/c", "../../../c@1/node_modules/@s/c")
        try link("\(store)/b@1/node_modules/a", "../../a@1/node_modules/a")
        try link("\(store)/b@1/node_modules/@s/c", "../../../c@1/node_modules/@s/c")
        var files = AppFiles()
        try files.readPackages(folder: root)
        #expect(
            files.packages.texts == [
                "a/index.js": "a", "a/node_modules/b/index.js": "b", "a/node_modules/@s/c/index.js": "c",
                "@s/c/index.js": "c2",
            ])
        #expect(files.problems.isEmpty)
    }

    @Test(arguments: [
        ("node_modules/a/x.js", "a/x.js"), ("./node_modules/a/x.js", "a/x.js"), ("a/x.json", "a/x.json"),
        ("node_modules/a/../../x.js", nil), ("x.js", nil), ("node_modules/x.js", nil), ("a/x.ts", nil),
        ("/a/x.js", "a/x.js"),
    ])
    func `an archive's paths are taken with and without the folder`(_ path: String, _ module: String?) {
        #expect(PackageCollector.modulePath(path) == module)
    }

    @Test func `packages beyond the limits are refused`() throws {
        var collector = PackageCollector()
        try collector.add("a/x.js", [UInt8](repeating: 32, count: PackageCollector.totalLimit))
        let error = #expect(throws: AppDefinitionError.self) { try collector.add("a/y.js", [32]) }
        #expect(error?.problems.first?.code == .fileTooLarge)
        var many = PackageCollector()
        for number in 0..<PackageCollector.countLimit { try many.add("a/\(number).js", []) }
        #expect(throws: AppDefinitionError.self) { try many.add("a/more.js", []) }
    }

    private func warnings(_ source: String, packages: [String] = [], listed: String? = nil) throws -> [String] {
        var files = AppFixture.files
        files.texts["functions/greet.js"] = source
        if let listed { files.texts["functions/package.json"] = listed }
        var collector = PackageCollector()
        for name in packages { try collector.add("\(name)/index.js", []) }
        files.packages = collector.packages
        return AppDefinition.inspect(files).problems.filter { $0.code == .featureNotServed }.map(\.message)
    }

    @Test(arguments: [
        "const a = require('axios')", "import a from 'axios'", "import {\n  b,\n} from \"axios\";", "import 'axios/x'",
        "const a = require('axios/lib/x.js')", "import a, * as c from 'axios';",
    ])
    func `a required package that the export lacks is a warning by name`(_ line: String) throws {
        let source = line + "\nexports = () => 1"
        let warnings = try warnings(source)
        #expect(warnings.count == 1)
        #expect(warnings.first?.contains("the package axios isn't in the export") == true, "\(warnings)")
        #expect(try self.warnings(source, packages: ["axios"]) == [])
    }

    @Test func `modules of Node need no package, and those without use are named`() throws {
        #expect(try warnings("const c = require('crypto'), u = require('node:url')\nexports = () => c") == [])
        #expect(try warnings("const f = require('fs')\nexports = () => f").first?.contains("use throws") == true)
    }

    @Test func `listed packages are named when they are missing`() throws {
        let listed = #"{"dependencies": {"axios": "1.0.0", "lodash": "4", "@s/x": "1"}}"#
        let source = "exports = () => 1"
        #expect(try warnings(source, packages: ["lodash", "@s/x"], listed: listed).first?.contains("(axios)") == true)
        #expect(try warnings(source, packages: ["lodash", "@s/x", "axios"], listed: listed) == [])
    }

    @Test func `a missing package is named with the line that requires it, and with what takes it`() throws {
        var files = AppFixture.files
        files.texts["functions/greet.js"] = """
            // require('left-out')
            /* import 'left-out' */ const url = "http://a.example/"; // require('left-out')
            import {
              b,
            } from "@scope/b/lib"; // the rest of it
            exports = async () => `${require("axios")} ${/require('x')\\//} ${"require('text')"}`;
            const again = require("axios"), later = import("later");
            """
        let problems = AppDefinition.inspect(files).problems.filter { $0.code == .featureNotServed }
        #expect(
            problems.map { "\($0.file):\($0.line ?? 0)" } == [
                "functions/greet.js:5", "functions/greet.js:6", "functions/greet.js:7",
            ], "\(problems)")
        for (problem, name) in zip(problems, ["@scope/b", "axios", "later"]) {
            #expect(problem.message.contains("npm install \(name)`") && problem.message.contains("--packages"))
        }
    }

    @Test func `missing packages are taken from a folder, with what they need and nothing else`() throws {
        let root = try folder([
            "node_modules/axios/package.json":
                #"{"dependencies": {"follow": "1", "form": "1", "gone": "1"}, "peerDependencies": {"peer": "1"}}"#,
            "node_modules/axios/index.js": "axios", "node_modules/axios/README.md": "not a module",
            "node_modules/axios/node_modules/form/package.json": #"{"dependencies": {"deep": "1"}}"#,
            "node_modules/axios/node_modules/form/index.js": "nested",
            "node_modules/form/index.js": "not the one that axios has",
            "node_modules/follow/index.js": "follow", "node_modules/follow/package.json": "no JSON",
            "node_modules/deep/package.json": #"{"dependencies": {"axios": "1"}, "optionalDependencies": {"no": "1"}}"#,
            "node_modules/peer/index.js": "peer", "node_modules/@s/x/index.js": "x",
            "node_modules/own/index.js": "not the app's", "node_modules/jest/index.js": "not needed",
        ])
        defer { try? FileManager.default.removeItem(atPath: root) }
        try FileManager.default.createSymbolicLink(
            atPath: root + "/node_modules/workspace", withDestinationPath: "/etc")
        var files = AppFixture.files
        files.texts["functions/greet.js"] = "const a = require('axios/lib'), o = require('own')\nexports = () => a"
        files.texts["functions/package.json"] = #"{"dependencies": {"@s/x": "1"}, "devDependencies": {"jest": "1"}}"#
        var collector = PackageCollector()
        try collector.add("own/index.js", Array("own".utf8))
        files.packages = collector.packages
        files.otherFiles["functions/node_modules.zip"] = [1]
        let taken = try files.addPackages(from: "\(root)/node_modules")
        #expect(taken == ["@s/x", "axios", "deep", "follow", "peer"])
        #expect(
            Set(files.packages.texts.keys) == [
                "own/index.js", "@s/x/index.js", "axios/package.json", "axios/index.js", "deep/package.json",
                "axios/node_modules/form/package.json", "axios/node_modules/form/index.js", "follow/index.js",
                "follow/package.json", "peer/index.js",
            ])
        #expect(files.packages.texts["own/index.js"] == "own")
        let problems = AppDefinition.inspect(files).problems
        #expect(problems.map(\.file) == ["\(root)/node_modules/axios/package.json"], "\(problems)")
        #expect(problems.first?.message.contains("gone") == true)
        // What is sent to a server has them in one place.
        #expect(files.otherFiles.isEmpty)
        let sent = files.original.map(\.path).filter { $0.contains("node_modules") }
        #expect(Set(sent) == Set(files.packages.texts.keys.map { "functions/node_modules/\($0.text)" }))
        // Nothing is missing any more.
        #expect(try files.addPackages(from: "\(root)/node_modules") == [])
    }

    @Test func `packages of a folder are taken within the limits`() throws {
        let large = String(repeating: " ", count: PackageCollector.totalLimit)
        let root = try folder(["node_modules/axios/index.js": large])
        defer { try? FileManager.default.removeItem(atPath: root) }
        var files = AppFixture.files
        files.texts["functions/greet.js"] = "const a = require('axios')\nexports = () => a"
        var within = files
        #expect(try within.addPackages(from: "\(root)/node_modules") == ["axios"])
        var collector = PackageCollector()
        try collector.add("own/index.js", [32])
        files.packages = collector.packages
        let error = #expect(throws: AppDefinitionError.self) { try files.addPackages(from: "\(root)/node_modules") }
        #expect(error?.problems.first?.code == .fileTooLarge)
    }
}
