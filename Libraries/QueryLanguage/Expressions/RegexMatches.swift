import DocumentModel

/// The matches of a regular expression in one text, in their order and in the form of `$regexFind`.
struct RegexMatches {
    let bytes: [UInt8]
    /// The last place up to which code points were counted, and their number.
    private var counted = (place: 0, codePoints: 0)

    init(_ text: String) { bytes = Array(text.utf8) }

    mutating func found(_ match: [Range<Int>?]) -> Value {
        let start = match.first.flatMap { $0?.lowerBound } ?? 0
        if start < counted.place { counted = (0, 0) }
        // Counting continues from the last match, so that the text is counted only once.
        counted.codePoints += bytes[counted.place..<start].reduce(0) { $0 + ($1 & 0xC0 == 0x80 ? 0 : 1) }
        counted.place = start
        return [
            "match": part(match.first ?? nil), "idx": .integer(counted.codePoints),
            "captures": .array(match.dropFirst().map(part)),
        ]
    }

    private func part(_ range: Range<Int>?) -> Value {
        range.map { .string(String(decoding: bytes[$0], as: UTF8.self)) } ?? .null
    }
}
