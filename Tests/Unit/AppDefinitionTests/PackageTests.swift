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
}
