import ChildProcesses
import Foundation
import Testing

/// `partita app check`, which needs no engine.
struct AppCheckTests {
    private func check(_ arguments: [String]) async throws -> CapturedRun {
        // A database that isn't there, so that nothing could come from one.
        try await CapturedRun.run(
            CurrentEnvironment.sibling("partita"), ["app", "check"] + arguments,
            environment: CurrentEnvironment.variables.merging(["PARTITA_POSTGRES_URL": "postgres://a@127.0.0.1:1/b"]) {
                $1
            })
    }

    private func withFolder<R>(_ body: (String) async throws -> R) async throws -> R {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("app-\(UUID().uuidString)").path
        try FileManager.default.copyItem(atPath: TestApp.rchat, toPath: folder)
        defer {
            for end in ["", ".tar.gz", ".zip"] { try? FileManager.default.removeItem(atPath: folder + end) }
        }
        return try await body(folder)
    }

    @Test func `a sound app is reported by feature, and the exit status is 0`() async throws {
        let run = try await check([TestApp.rchat])
        #expect(run.status.isSuccess, "\(run.output)")
        #expect(run.output.contains("app rchat"))
        #expect(run.output.contains("  triggers          "), "\(run.output)")
        #expect(run.output.contains("in partitions by "), "\(run.output)")
        #expect(!run.output.contains("warning"))
    }

    @Test func `an app with an error is refused with file, line and the exit status 1`() async throws {
        try await withFolder { folder in
            let file = "\(folder)/triggers/chatMessageSent.json"
            let text = try String(contentsOfFile: file, encoding: .utf8)
            try text.replacing("\"chatMessageChange\"", with: "\"gone\"").write(
                toFile: file, atomically: true, encoding: .utf8)
            let run = try await check([folder])
            #expect(run.status == .exited(1))
            #expect(run.output.contains("triggers/chatMessageSent.json:18 "), "\(run.output)")
            #expect(run.output.contains("a deployment would be refused: 1 error"))
            let rows = try await check([folder, "--json"]).output.split(separator: "\n")
            #expect(
                rows.contains { $0.contains(#""code":"function-unknown""#) && $0.contains(#""line":18"#) }, "\(rows)")
        }
    }

    @Test func `the functions are parsed by the engine that runs them`() async throws {
        try await withFolder { folder in
            let file = "\(folder)/functions/chatMessageChange.js"
            let text = try String(contentsOfFile: file, encoding: .utf8)
            try text.replacing("exports = async", with: "exports = async async").write(
                toFile: file, atomically: true, encoding: .utf8)
            let run = try await check([folder])
            #expect(run.status == .exited(1))
            #expect(run.output.contains("functions/chatMessageChange.js:2: error function-syntax"), "\(run.output)")
        }
    }

    @Test func `an app comes from a folder, from an archive, or from standard input`() async throws {
        try await withFolder { folder in
            let expected = try await check([folder]).output
            let (parent, name) = (
                (folder as NSString).deletingLastPathComponent, (folder as NSString).lastPathComponent
            )
            let made = [
                "tar czf \(folder).tar.gz -C \(folder) .",
                "cd \(parent) && python3 -m zipfile -c \(folder).zip \(name)/",
            ]
            for command in made {
                let run = try await CapturedRun.run("/bin/sh", ["-c", command])
                try #require(run.status.isSuccess, "\(run.output)")
            }
            for archive in [".tar.gz", ".zip"] {
                #expect(try await check([folder + archive]).output == expected)
            }
            let tool = CurrentEnvironment.sibling("partita")
            let piped = try await CapturedRun.run("/bin/sh", ["-c", "\(tool) app check - < \(folder).tar.gz"])
            #expect(piped.output == expected)
            let bad = try await CapturedRun.run("/bin/sh", ["-c", "echo hello | \(tool) app check -"])
            #expect(bad.status == .exited(1) && bad.output.contains("standard input: not a zip or tar archive"))
        }
    }

    @Test func `a folder whose app is one level below is told apart from an app`() async throws {
        let parent = (TestApp.rchat as NSString).deletingLastPathComponent
        let run = try await check([parent])
        #expect(run.status == .exited(1))
        #expect(run.output.contains("; try ") && run.output.contains(TestApp.rchat), "\(run.output)")
    }

    @Test func `the operator's choices are part of the check`() async throws {
        try await withFolder { folder in
            let root = "{\"config_version\": 20210101}"
            try root.write(toFile: "\(folder)/realm_config.json", atomically: true, encoding: .utf8)
            let refused = try await check([folder])
            #expect(refused.status == .exited(1) && refused.output.contains("--app-id ID"), "\(refused.output)")
            let run = try await check([folder, "--app-id", "mine"])
            #expect(run.status.isSuccess && run.output.contains("app mine"), "\(run.output)")
        }
    }

    @Test func `packages that the app lacks are named, and are taken from a folder`() async throws {
        try await withFolder { folder in
            try "const x = require('x');\nexports = () => x;\n".write(
                toFile: "\(folder)/functions/chatMessageChange.js", atomically: true, encoding: .utf8)
            let without = try await check([folder])
            #expect(without.output.contains("functions/chatMessageChange.js:1: warning"), "\(without.output)")
            #expect(without.output.contains("--packages"))
            let packages = "\(folder)/elsewhere/node_modules"
            try FileManager.default.createDirectory(atPath: "\(packages)/x", withIntermediateDirectories: true)
            try "1".write(toFile: "\(packages)/x/index.js", atomically: true, encoding: .utf8)
            let with = try await check([folder, "--packages", packages])
            #expect(with.status.isSuccess && !with.output.contains("warning"), "\(with.output)")
            let outside = try await check([folder, "--packages", "\(folder)/elsewhere"])
            #expect(outside.status == .exited(1) && outside.output.contains("name \(packages)"), "\(outside.output)")
        }
    }
}
