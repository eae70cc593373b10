import AppDefinition
import DocumentModel
import Testing

@Suite struct DamageTests {
    /// Every file of the fixture with a byte changed, cut short, or with a value replaced: the outcome must be
    /// a list of problems or a definition, and a definition can be stored and read again.
    @Test func `damage to a folder's files only causes reported problems`() throws {
        var random = SystemRandomNumberGenerator()
        let replacements: [String] = ["null", "[]", "{}", "5", "\"%%user.id\"", "{\"$oid\": 1}", "true"]
        for path in AppFixture.files.paths {
            let text = AppFixture.files[path] ?? ""
            for _ in 0..<40 {
                var bytes = Array(text.utf8)
                switch Int.random(in: 0..<3, using: &random) {
                case 0:
                    bytes[Int.random(in: bytes.indices, using: &random)] = UInt8.random(in: 32..<127, using: &random)
                case 1: bytes = Array(bytes.prefix(Int.random(in: bytes.indices, using: &random)))
                default:
                    guard
                        let quote = bytes.indices.filter({ bytes[$0] == UInt8(ascii: ":") }).randomElement(
                            using: &random),
                        let other = replacements.randomElement(using: &random)
                    else { continue }
                    let end = bytes[(quote + 1)...].firstIndex { $0 == UInt8(ascii: ",") || $0 == UInt8(ascii: "}") }
                    bytes.replaceSubrange((quote + 1)..<(end ?? bytes.endIndex), with: Array(other.utf8))
                }
                let inspection = AppDefinition.inspect(AppFixture.files(path, String(decoding: bytes, as: UTF8.self)))
                let restored = try AppDefinition(stored: inspection.definition.document)
                #expect(restored.functions.count == inspection.definition.functions.count)
            }
        }
    }
}
