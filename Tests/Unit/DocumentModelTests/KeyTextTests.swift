import DocumentModel
import Testing

/// Each key has one text: with a second one, a partition would have two names.
@Suite struct KeyTextTests {
    @Test(arguments: [
        "l:+5", "l:007", "l:-0", "l:", "l: 5", "l:9223372036854775808", "o:5F43D0A1B2C3D4E5F6071829",
        "o:5f43d0a1b2c3d4e5f60718",
        "o:+f43d0a1b2c3d4e5f6071829", "u:C2A1F0E4-5B6D-4E8F-9A0B-1C2D3E4F5A6B", "u:c2a1f0e45b6d4e8f9a0b1c2d3e4f5a6b",
        "u:c2a1f0e4-5b6d-4e8f-9a0b1c2d3e4f-5a6b", "u:+2a1f0e4-5b6d-4e8f-9a0b-1c2d3e4f5a6b", "x:1", "s", "",
    ])
    func `other texts aren't keys`(text: String) {
        #expect(Value(keyText: text) == nil)
        #expect(Partition(text: text).value == nil)
    }

    @Test(arguments: [
        "l:0", "l:5", "l:-7", "l:9223372036854775807", "l:-9223372036854775808", "o:5f43d0a1b2c3d4e5f6071829",
        "u:c2a1f0e4-5b6d-4e8f-9a0b-1c2d3e4f5a6b", "s:", "s:l:007", "s:\u{301}",
    ])
    func `a key has the text that it is read from`(text: String) throws {
        let value = try #require(Value(keyText: text))
        #expect(value.keyText == text)
    }

    @Test func `a UUID is read in upper case, too, with its hyphens where they belong`() {
        let text = "C2A1F0E4-5B6D-4E8F-9A0B-1C2D3E4F5A6B"
        #expect(Binary(uuidString: text)?.uuidString == text.lowercased())
        for wrong in [
            "c2a1f0e45b6d4e8f9a0b1c2d3e4f5a6b", "c2a1f0e4-5b6d-4e8f-9a0b-1c2d3e4f5a6b-",
            "c2a1f0e4-5b6d-4e8f-9a0b-+c2d3e4f5a6b",
            "-c2a1f0e4-5b6d-4e8f-9a0b1c2d3e4f5a6b",
        ] { #expect(Binary(uuidString: wrong) == nil, "\(wrong)") }
    }
}
