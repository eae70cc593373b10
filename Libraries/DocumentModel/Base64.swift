/// Base64 of RFC 4648 with padding, as Extended JSON encodes binaries.
enum Base64 {
    private static let alphabet = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/".utf8)

    private static let values: [UInt8] = {
        var table = [UInt8](repeating: 255, count: 256)
        for (index, byte) in alphabet.enumerated() { table[Int(byte)] = UInt8(index) }
        return table
    }()

    /// The bytes, or `nil` for a wrong digit, a wrong length or padding inside. Padding may be left out.
    static func decode(_ text: UnsafeBufferPointer<UInt8>) -> [UInt8]? {
        var length = text.count
        if length % 4 == 0, length > 0, text[length - 1] == UInt8(ascii: "=") {
            length -= 1
            if text[length - 1] == UInt8(ascii: "=") { length -= 1 }
        }
        let tail = length % 4
        guard tail != 1 else { return nil }
        let size = length / 4 * 3 + (tail == 0 ? 0 : tail - 1)
        var isValid = true
        let bytes = [UInt8](unsafeUninitializedCapacity: size) { output, count in
            values.withUnsafeBufferPointer { values in
                var bad: UInt8 = 0
                var read = 0, written = 0
                while read &+ 4 <= length {
                    let a = values[Int(text[read])], b = values[Int(text[read &+ 1])]
                    let c = values[Int(text[read &+ 2])], d = values[Int(text[read &+ 3])]
                    bad |= (a | b | c | d) & 0xC0
                    output[written] = a << 2 | b >> 4
                    output[written &+ 1] = b << 4 | c >> 2
                    output[written &+ 2] = c << 6 | d
                    read &+= 4
                    written &+= 3
                }
                if tail >= 2 {
                    let a = values[Int(text[read])], b = values[Int(text[read + 1])]
                    bad |= (a | b) & 0xC0
                    output[written] = a << 2 | b >> 4
                    if tail == 3 {
                        let c = values[Int(text[read + 2])]
                        bad |= c & 0xC0
                        output[written + 1] = b << 4 | c >> 2
                    }
                }
                isValid = bad == 0
            }
            count = size
        }
        return isValid ? bytes : nil
    }

    /// The number of characters for `count` bytes.
    static func length(of count: Int) -> Int { (count + 2) / 3 * 4 }

    /// Writes the text of the bytes to memory with room for `length(of:)` characters.
    static func encode(_ bytes: UnsafeBufferPointer<UInt8>, to output: UnsafeMutablePointer<UInt8>) {
        alphabet.withUnsafeBufferPointer { alphabet in
            var read = 0, written = 0
            while read &+ 3 <= bytes.count {
                let word = UInt32(bytes[read]) << 16 | UInt32(bytes[read &+ 1]) << 8 | UInt32(bytes[read &+ 2])
                output[written] = alphabet[Int(word >> 18)]
                output[written &+ 1] = alphabet[Int(word >> 12 & 63)]
                output[written &+ 2] = alphabet[Int(word >> 6 & 63)]
                output[written &+ 3] = alphabet[Int(word & 63)]
                read &+= 3
                written &+= 4
            }
            let rest = bytes.count - read
            guard rest > 0 else { return }
            let word = UInt32(bytes[read]) << 16 | (rest == 2 ? UInt32(bytes[read + 1]) << 8 : 0)
            output[written] = alphabet[Int(word >> 18)]
            output[written + 1] = alphabet[Int(word >> 12 & 63)]
            output[written + 2] = rest == 2 ? alphabet[Int(word >> 6 & 63)] : UInt8(ascii: "=")
            output[written + 3] = UInt8(ascii: "=")
        }
    }
}
