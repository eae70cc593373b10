/// Scanning of JSON text eight bytes at a time.
enum JSONText {
    private static let ones: UInt64 = 0x0101_0101_0101_0101
    private static let tops: UInt64 = 0x8080_8080_8080_8080

    /// The first byte from `start` that ends a plain run inside a string: a quote, a backslash or a control character; `end` if none.
    @inline(__always)
    static func endOfPlain(_ base: UnsafePointer<UInt8>, from start: Int, to end: Int) -> Int {
        var index = start
        while index &+ 8 <= end {
            let word = UInt64(littleEndian: UnsafeRawPointer(base + index).loadUnaligned(as: UInt64.self))
            let quotes = word ^ (ones &* 0x22), slashes = word ^ (ones &* 0x5C)
            // Each term has the top bit of a byte set if that byte is zero, or below 0x20; carries only affect bytes above a hit.
            let hits =
                ((quotes &- ones) & ~quotes) | ((slashes &- ones) & ~slashes) | ((word &- ones &* 0x20) & ~word)
            let marks = hits & tops
            if marks != 0 { return index &+ marks.trailingZeroBitCount / 8 }
            index &+= 8
        }
        while index < end {
            let byte = base[index]
            if byte == 0x22 || byte == 0x5C || byte < 0x20 { return index }
            index &+= 1
        }
        return end
    }

    /// As `endOfPlain`, and also whether the run is ASCII.
    @inline(__always)
    static func plainRun(_ base: UnsafePointer<UInt8>, from start: Int, to end: Int) -> (stop: Int, isASCII: Bool) {
        var index = start
        var bits: UInt64 = 0
        while index &+ 8 <= end {
            let word = UInt64(littleEndian: UnsafeRawPointer(base + index).loadUnaligned(as: UInt64.self))
            let quotes = word ^ (ones &* 0x22), slashes = word ^ (ones &* 0x5C)
            let hits = ((quotes &- ones) & ~quotes) | ((slashes &- ones) & ~slashes) | ((word &- ones &* 0x20) & ~word)
            let marks = hits & tops
            if marks != 0 {
                let place = marks.trailingZeroBitCount & ~7
                bits |= word & ((1 << UInt64(truncatingIfNeeded: place)) &- 1)
                return (index &+ place / 8, bits & tops == 0)
            }
            bits |= word
            index &+= 8
        }
        var tail: UInt8 = 0
        while index < end {
            let byte = base[index]
            if byte == 0x22 || byte == 0x5C || byte < 0x20 { break }
            tail |= byte
            index &+= 1
        }
        return (index, bits & tops == 0 && tail < 0x80)
    }
}
