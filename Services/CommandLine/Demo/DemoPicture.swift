import Czlib

/// A picture to send.
enum DemoPicture {
    /// A PNG picture of 2 MB, which no compression makes smaller.
    static func bytes() -> [UInt8] {
        let width: UInt32 = 1000, height: UInt32 = 700
        var rows: [UInt8] = []
        var state: UInt32 = 1
        for _ in 0..<height {
            rows.append(0)  // not filtered
            for _ in 0..<(width * 3) {
                state = state &* 1_664_525 &+ 1_013_904_223
                rows.append(UInt8(truncatingIfNeeded: state >> 24))
            }
        }
        var size = compressBound(uLong(rows.count)), stream = [UInt8](repeating: 0, count: Int(size))
        compress2(&stream, &size, rows, uLong(rows.count), 0)
        let header = bigEndian(width) + bigEndian(height) + [8, 2, 0, 0, 0]  // three colours of eight bits
        return [0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A] + chunk("IHDR", header)
            + chunk("IDAT", Array(stream[..<Int(size)])) + chunk("IEND", [])
    }

    private static func chunk(_ type: String, _ data: [UInt8]) -> [UInt8] {
        let part = Array(type.utf8) + data
        return bigEndian(UInt32(data.count)) + part
            + bigEndian(UInt32(truncatingIfNeeded: crc32(0, part, uInt(part.count))))
    }

    private static func bigEndian(_ number: UInt32) -> [UInt8] { withUnsafeBytes(of: number.bigEndian) { Array($0) } }
}
