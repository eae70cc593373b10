/// Hexadecimal digits (RFC 4648, base 16), two for each byte.
public enum Hex {
    /// The value of a digit, in upper or lower case; 255 for any other byte.
    @inlinable @inline(__always)
    public static func value(_ byte: UInt8) -> UInt8 {
        switch byte {
        case 0x30...0x39: byte &- 0x30
        case 0x61...0x66: byte &- 0x57
        case 0x41...0x46: byte &- 0x37
        default: 255
        }
    }

    /// The digit (lower case) of a value below 16.
    @inlinable @inline(__always)
    public static func digit(_ value: UInt8) -> UInt8 { value < 10 ? value &+ 0x30 : value &+ 0x57 }

    /// The digits of bytes, in lower case.
    public static func text(_ bytes: some Collection<UInt8>) -> String {
        String(unsafeUninitializedCapacity: 2 * bytes.count) { output in
            var end = 0
            for byte in bytes {
                output[end] = digit(byte >> 4)
                output[end + 1] = digit(byte & 15)
                end += 2
            }
            return end
        }
    }

    /// The 16 digits of a number, in lower case.
    public static func text(_ number: UInt64) -> String {
        text(withUnsafeBytes(of: number.bigEndian) { Array($0) })
    }

    /// The bytes that digits stand for, in upper or lower case.
    /// - Returns: `nil` if their number is odd or a byte isn't a digit.
    public static func bytes(_ digits: some Collection<UInt8>) -> [UInt8]? {
        guard digits.count.isMultiple(of: 2) else { return nil }
        var bytes: [UInt8] = [], high: UInt8?
        bytes.reserveCapacity(digits.count / 2)
        for digit in digits {
            let value = value(digit)
            if value > 15 { return nil }
            if let first = high {
                bytes.append(first << 4 | value)
                high = nil
            } else {
                high = value
            }
        }
        return bytes
    }
}
