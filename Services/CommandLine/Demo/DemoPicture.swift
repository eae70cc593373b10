/// A picture to send.
enum DemoPicture {
    /// A picture of 2 MB in a simple format (PPM).
    static func bytes() -> [UInt8] {
        var bytes = Array("P6 1000 700 255\n".utf8)
        var state: UInt32 = 1
        for _ in 0..<(1000 * 700 * 3) {
            state = state &* 1_664_525 &+ 1_013_904_223
            bytes.append(UInt8(truncatingIfNeeded: state >> 24))
        }
        return bytes
    }
}
