import Foundation
import Testing

/// Reads `Deploy/compose.yaml`: what two services have to be told alike.
struct ComposeTests {
    /// The lines of a service.
    private static func service(_ name: String) throws -> [Substring] {
        let file = URL(fileURLWithPath: #filePath).appending(path: "../../../../Deploy/compose.yaml")
            .standardizedFileURL
        let lines = try String(contentsOf: file, encoding: .utf8).split(separator: "\n")
        let services = lines.drop { $0 != "services:" }
        return Array(
            services.drop { $0 != "  \(name):" }.dropFirst()
                .prefix { $0.hasPrefix("    ") || $0.hasPrefix("  #") })
    }

    @Test(arguments: ["PARTITA_S3_ENDPOINT:", "PARTITA_MEDIA_DIRECTORY: /var/lib/partita/media"])
    func `the tool looks for media where media-offload keeps them`(_ setting: String) throws {
        for name in ["media-offload", "partita"] {
            #expect(try Self.service(name).contains { $0 == "      " + setting }, "\(name) lacks \(setting)")
        }
    }
}
