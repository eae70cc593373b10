import Archives
import DocumentModel
import HTTPServer
import TestSupport
import Testing

@testable import Auth

/// Archives of apps as the administration API gets them, of which nothing can be trusted.
@Suite(.serialized) struct UploadedArchiveTests {
    private typealias Files = [(path: String, bytes: [UInt8])]

    private func config(_ app: String) -> Files {
        [("realm_config.json", Array(#"{"config_version": 20210101, "app_id": "\#(app)", "name": "Test"}"#.utf8))]
    }

    private func tryOut(_ archive: [UInt8], _ app: AppClient, _ token: String) async throws -> AppClient.Answer {
        try await app.sendBytes(
            .post, "/api/admin/v1/apps/\(app.app)/versions?dryRun=true", archive, token: token,
            headers: ["Content-Type": "application/octet-stream"])
    }

    @Test func `an archive that is no app is refused with what is wrong`() async throws {
        let app = try await AuthFixture.shared().app()
        let token = try await AdminTokens(client: try await AuthFixture.shared().postgres).make(
            named: "of a test", roles: [.deploy], app: nil, days: nil)
        let good = try ArchiveWriter(.tarGzip).archive(config(app.app))
        #expect(try await tryOut(good, app, token).status == 200)
        let large = [UInt8](repeating: 48, count: 65 << 20)
        let cases: [(String, [UInt8], code: String)] = [
            ("nothing", [], "source-unreadable"), ("text", Array("no archive".utf8), "source-unreadable"),
            ("cut", Array(good.dropLast(good.count / 2)), "source-unreadable"),
            ("no app", try ArchiveWriter(.zip).archive([("a.txt", [1])]), "app-not-found"),
            (
                "a file that unpacks to too much",
                try ArchiveWriter(.zip).archive(config(app.app) + [("functions/x.js", large)]), "app-invalid"
            ),
            (
                "too many files",
                try ArchiveWriter(.tarGzip).archive(
                    config(app.app) + (0..<11_000).map { ("functions/f\($0).js", Array("exports = 1".utf8)) }),
                "app-invalid"
            ),
            ("another app", try ArchiveWriter(.tar).archive(config("another")), "InvalidParameter"),
            ("no JSON", try ArchiveWriter(.tar).archive([("realm_config.json", [0xFF, 0xFE])]), "app-invalid"),
            (
                "deep JSON",
                try ArchiveWriter(.tar).archive([("realm_config.json", [UInt8](repeating: 0x5B, count: 200_000))]),
                "app-invalid"
            ),
            ("too large", large, "RequestEntityTooLarge"),
        ]
        for (name, archive, code) in cases {
            let answer = try await tryOut(archive, app, token)
            #expect(answer.code == code, "\(name): \(answer.status) \(answer.json)")
            #expect((400..<500).contains(answer.status), "\(name): \(answer.status)")
        }
        #expect(try await tryOut(good, app, token).status == 200)
    }

    @Test func `paths that lead out of an archive lead nowhere`() async throws {
        let app = try await AuthFixture.shared().app()
        let token = try await AdminTokens(client: try await AuthFixture.shared().postgres).make(
            named: "of a test", roles: [.deploy, .readOnly], app: nil, days: nil)
        let source = Array("exports = () => 1".utf8)
        for format in ArchiveWriter.Format.allCases {
            let odd = ["../../functions/up.js", "/functions/root.js", "functions/../../../out.js", "functions//two.js"]
            let archive = try ArchiveWriter(format).archive(config(app.app) + odd.map { ($0, source) })
            let answer = try await tryOut(archive, app, token)
            #expect(answer.status == 200 || answer.code == "app-invalid", "\(format): \(answer.json)")
            #expect(!"\(answer.json)".contains("/tmp"), "\(answer.json)")
        }
    }
}
