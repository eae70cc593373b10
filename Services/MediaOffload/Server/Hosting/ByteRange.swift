/// The range of bytes that a request asks for (RFC 9110, 14).
enum ByteRange: Equatable {
    /// The whole file: the field is malformed, or asks for several ranges at once, which a server may answer with everything.
    case whole
    case part(Range<Int>)
    /// The file has no byte of it.
    case beyond

    /// - Parameters:
    ///   - field: the value of `Range`.
    ///   - size: the file's bytes.
    init(_ field: String, of size: Int) {
        let bytes = field.utf8
        guard bytes.count <= 64, field.lowercased().hasPrefix("bytes="), !bytes.contains(UInt8(ascii: ",")) else {
            self = .whole
            return
        }
        let ends = bytes.dropFirst(6).split(separator: UInt8(ascii: "-"), omittingEmptySubsequences: false)
        guard ends.count == 2, let first = Self.number(ends[0]), let last = Self.number(ends[1]) else {
            self = .whole
            return
        }
        switch (first, last) {
        case (nil, nil): self = .whole
        case (nil, let count?): self = count == 0 || size == 0 ? .beyond : .part(max(0, size - count)..<size)
        case (let start?, nil): self = start < size ? .part(start..<size) : .beyond
        case (let start?, let end?):
            self = end < start ? .whole : start < size ? .part(start..<min(end, size - 1) + 1) : .beyond
        }
    }

    /// - Returns: a number, which may stand for a larger one; `.some(nil)` for no digits; `nil` for anything else.
    private static func number(_ digits: Substring.UTF8View) -> Int?? {
        guard !digits.isEmpty else { return .some(nil) }
        guard digits.allSatisfy({ $0 >= UInt8(ascii: "0") && $0 <= UInt8(ascii: "9") }) else { return nil }
        return Int(Substring(digits)) ?? .max - 1
    }
}
