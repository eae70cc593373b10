import AppDefinition
import Foundation
import Testing

/// The table of `README.md` for teams that migrate from Atlas App Services.
struct ReadmeTests {
    /// Parts of an export that the table lists as unsupported; the file and its text.
    private static let missing: [String: (file: String, text: String)] = [
        "flexible sync": ("sync/config.json", #"{"type": "flexible", "state": "enabled", "database_name": "Shop"}"#),
        "other services of vendors": ("services/push/config.json", #"{"name": "push", "type": "gcm", "config": {}}"#),
        "GraphQL": ("graphql/config.json", "{}"),
        "log forwarders": ("log_forwarders/all.json", #"{"name": "all"}"#),
        "triggers that send to EventBridge": (
            "triggers/nightly.json",
            #"{"name": "nightly", "type": "SCHEDULED", "config": {"schedule": "0 3 * * *"}, "event_processors": {"AWS_EVENTBRIDGE": {"config": {}}}}"#
        ),
    ]

    @Test func `a deployment reports what README calls unsupported, and refuses it where it says so`() throws {
        let root = URL(fileURLWithPath: #filePath).appending(path: "../../../..").standardizedFileURL
        let text = try String(contentsOf: root.appending(path: "README.md"), encoding: .utf8)
        let rows = text.split(separator: "\n").filter { $0.hasPrefix("| ") }
            .map { $0.split(separator: "|").map { $0.trimmingCharacters(in: .whitespaces) } }
            .filter { $0.count == 2 && $0[1].hasPrefix("no") && $0[1] != "not yet" }
        #expect(Set(rows.map { $0[0] }) == Set(Self.missing.keys))
        for row in rows {
            let (file, text) = try #require(Self.missing[row[0]])
            let problems = AppFixture.problems(file, text).filter { $0.file == file }
            #expect(!problems.isEmpty, "nothing is said of \(row[0])")
            #expect(problems.contains { $0.severity == .error } == row[1].contains("refused"), "\(problems)")
        }
    }
}
