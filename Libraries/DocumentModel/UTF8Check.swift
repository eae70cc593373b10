/// Validation of UTF-8 (RFC 3629): shortest forms only, no surrogates, nothing beyond U+10FFFF.
enum UTF8Check {
    /// Whether all bytes are below 0x80.
    @inline(__always)
    static func isASCII(_ base: UnsafePointer<UInt8>, _ count: Int) -> Bool {
        var index = 0
        var bits: UInt64 = 0
        while index &+ 8 <= count {
            bits |= UnsafeRawPointer(base + index).loadUnaligned(as: UInt64.self)
            index &+= 8
        }
        var tail: UInt8 = 0
        while index < count {
            tail |= base[index]
            index &+= 1
        }
        return bits & 0x8080_8080_8080_8080 == 0 && tail < 0x80
    }

    /// Whether the bytes are UTF-8.
    @inline(never)
    static func isValid(_ base: UnsafePointer<UInt8>, _ count: Int) -> Bool {
        var index = 0
        while index < count {
            let lead = base[index]
            if lead < 0x80 {
                index &+= 1
                continue
            }
            let length: Int
            // The second byte's range rules out overlong forms, surrogates and code points beyond the last one.
            let second: ClosedRange<UInt8>
            switch lead {
            case 0xC2...0xDF: (length, second) = (2, 0x80...0xBF)
            case 0xE0: (length, second) = (3, 0xA0...0xBF)
            case 0xED: (length, second) = (3, 0x80...0x9F)
            case 0xE1...0xEF: (length, second) = (3, 0x80...0xBF)
            case 0xF0: (length, second) = (4, 0x90...0xBF)
            case 0xF1...0xF3: (length, second) = (4, 0x80...0xBF)
            case 0xF4: (length, second) = (4, 0x80...0x8F)
            default: return false
            }
            guard index &+ length <= count, second.contains(base[index &+ 1]) else { return false }
            for place in index &+ 2..<max(index &+ length, index &+ 2) where base[place] & 0xC0 != 0x80 { return false }
            index &+= length
        }
        return true
    }

    /// The string with these bytes; `nil` if they aren't UTF-8.
    @inline(__always)
    static func string(_ base: UnsafePointer<UInt8>, _ count: Int) -> String? {
        guard isASCII(base, count) || isValid(base, count) else { return nil }
        return String(decoding: UnsafeBufferPointer(start: base, count: count), as: UTF8.self)
    }
}
