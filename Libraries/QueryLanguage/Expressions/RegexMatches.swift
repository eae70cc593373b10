import DocumentModel

/// Matches of a regular expression in one text as `$regexFind` shows them, in their order.
struct RegexMatches {
    let bytes: [UInt8]
    /// How many code points stand before a place.
    private var counted = (place: 0, codePoints: 0)

    init(_ text: String) { bytes = Array(text.utf8) }

    mutating func found(_ match: [Range<Int>?]) -> Value {
        let start = match.first.flatMap { $0?.lowerBound } ?? 0
        if start < counted.place { counted = (0, 0) }
        // On from the last match, so that many of them don't count the text again and again.
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
