/// Validates UTF-8 in pieces (RFC 3629: no surrogates, no overlong forms, nothing above U+10FFFF).
struct UTF8Validator {
    /// How many continuation bytes the present character still needs, and the range of the next one.
    private var needed: UInt8 = 0
    private var lower: UInt8 = 0x80
    private var upper: UInt8 = 0xBF

    /// Whether the bytes so far end with a complete character.
    var isComplete: Bool { needed == 0 }

    /// Validates further bytes; returns `false` if one is invalid.
    mutating func accept(_ bytes: UnsafeRawBufferPointer) -> Bool {
        var index = 0
        while index < bytes.count {
            if needed == 0 {
                index = Self.skipASCII(bytes, from: index)
                guard index < bytes.count else { return true }
                guard start(bytes[index]) else { return false }
            } else {
                let byte = bytes[index]
                guard byte >= lower, byte <= upper else { return false }
                needed -= 1
                lower = 0x80
                upper = 0xBF
            }
            index += 1
        }
        return true
    }

    private mutating func start(_ byte: UInt8) -> Bool {
        switch byte {
        case 0x00...0x7F: return true
        case 0xC2...0xDF: needed = 1
        case 0xE0: (needed, lower) = (2, 0xA0)
        case 0xED: (needed, upper) = (2, 0x9F)
        case 0xE1...0xEF: needed = 2
        case 0xF0: (needed, lower) = (3, 0x90)
        case 0xF1...0xF3: needed = 3
        case 0xF4: (needed, upper) = (3, 0x8F)
        default: return false
        }
        return true
    }

    private static func skipASCII(_ bytes: UnsafeRawBufferPointer, from start: Int) -> Int {
        var index = start
        while index + 8 <= bytes.count {
            let word = bytes.loadUnaligned(fromByteOffset: index, as: UInt64.self)
            if word & 0x8080_8080_8080_8080 != 0 { break }
            index += 8
        }
        while index < bytes.count, bytes[index] < 0x80 { index += 1 }
        return index
    }

    /// Whether all of `bytes` is UTF-8.
    static func isValid(_ bytes: UnsafeRawBufferPointer) -> Bool {
        var validator = UTF8Validator()
        return validator.accept(bytes) && validator.isComplete
    }
}
