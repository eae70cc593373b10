/// The media type of bytes, determined from their first bytes: a type that a client declares isn't trusted, since browsers act on
/// it.
enum ContentType {
    static let unknown = "application/octet-stream"

    static func sniff(_ bytes: [UInt8]) -> String {
        if bytes.starts(with: [0xFF, 0xD8, 0xFF]) { return "image/jpeg" }
        if bytes.starts(with: [0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A]) { return "image/png" }
        if bytes.starts(with: Array("GIF87a".utf8)) || bytes.starts(with: Array("GIF89a".utf8)) { return "image/gif" }
        guard bytes.count >= 12 else { return unknown }
        let brand = String(decoding: bytes[8..<12], as: UTF8.self)
        if bytes.starts(with: Array("RIFF".utf8)), brand == "WEBP" { return "image/webp" }
        if bytes[4..<8].elementsEqual("ftyp".utf8), heic.contains(brand) { return "image/heic" }
        return unknown
    }

    /// The major brands of ISO/IEC 23008-12 for HEVC pictures; `mif1` and `msf1` leave the codec open, and are HEVC from cameras.
    private static let heic: Set<String> = ["heic", "heix", "heim", "heis", "hevc", "hevx", "mif1", "msf1"]
}
