import Testing

@testable import MediaOffload

struct ContentTypeTests {
    @Test(arguments: [
        ([0xFF, 0xD8, 0xFF, 0xE0], "image/jpeg"), ([0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A], "image/png"),
        (Array("GIF89a".utf8), "image/gif"), (Array("RIFF\0\0\0\0WEBPVP8 ".utf8), "image/webp"),
        (Array("\0\0\0\u{18}ftypheic".utf8), "image/heic"), (Array("\0\0\0\u{18}ftypmp42".utf8), ContentType.unknown),
        (Array("<svg onload=alert(1)>".utf8), ContentType.unknown), ([], ContentType.unknown),
    ])
    func `the type of bytes follows from their beginning`(_ bytes: [UInt8], _ type: String) {
        #expect(ContentType.sniff(bytes) == type)
    }
}
