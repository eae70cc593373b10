import Foundation
import Testing

@testable import LocalEngines

struct PostgresProgramsTests {
    @Test func `the programs of the server's version are used, otherwise the newest`() throws {
        let root = FileManager.default.temporaryDirectory.appendingPathComponent("programs-\(UUID().uuidString)").path
        defer { try? FileManager.default.removeItem(atPath: root) }  // nothing depends on the removal
        for name in ["9", "14", "17", "other"] {
            try FileManager.default.createDirectory(atPath: "\(root)/\(name)", withIntermediateDirectories: true)
        }
        func order(_ version: Int?) -> [String] {
            PostgresPrograms.folders(in: root, preferring: version).prefix(3).map {
                String($0.dropFirst(root.count + 1))
            }
        }
        #expect(order(nil) == ["17/bin", "14/bin", "9/bin"])
        #expect(order(14) == ["14/bin", "17/bin", "9/bin"])
        #expect(order(15) == ["17/bin", "14/bin", "9/bin"])
    }

    @Test(arguments: [
        ("pg_dump (PostgreSQL) 15.18 (Debian 15.18-0+deb12u1)\n", 15), ("postgres (PostgreSQL) 9.6.24", 9),
        ("pg_restore (PostgreSQL) 18beta1", 18),
    ])
    func `a program says its version`(_ text: String, _ version: Int) {
        #expect(PostgresPrograms.majorVersion(in: text) == version)
    }

    @Test func `an installed program says its version`() async throws {
        let folder = try PostgresPrograms.directory(of: "initdb")
        #expect(try await PostgresPrograms.majorVersion(of: folder + "/initdb") > 9)
    }

    @Test func `a script for an older server doesn't set what that doesn't know`() {
        #expect(PostgresScript.hasUnknownSetting(17, for: 16))
        #expect(!PostgresScript.hasUnknownSetting(17, for: 17))
        #expect(!PostgresScript.hasUnknownSetting(16, for: 15))
        var script = Array(
            "--\nSET lock_timeout = 0;\nSET transaction_timeout = 0;\nSET client_encoding = 'UTF8';\n".utf8)
        PostgresScript.removeUnknownSetting(from: &script)
        #expect(String(decoding: script, as: UTF8.self) == "--\nSET lock_timeout = 0;\nSET client_encoding = 'UTF8';\n")
        let before = script
        PostgresScript.removeUnknownSetting(from: &script)
        #expect(script == before)
    }
}
