/// Hexadecimal digits.
enum Hex {
    /// The value of a digit; 255 for any other byte.
    @inline(__always)
    static func value(_ byte: UInt8) -> UInt8 {
        switch byte {
        case 0x30...0x39: byte &- 0x30
        case 0x61...0x66: byte &- 0x57
        case 0x41...0x46: byte &- 0x37
        default: 255
        }
    }

    /// The digit (lower case) of a value below 16.
    @inline(__always)
    static func digit(_ value: UInt8) -> UInt8 { value < 10 ? value &+ 0x30 : value &+ 0x57 }
}
