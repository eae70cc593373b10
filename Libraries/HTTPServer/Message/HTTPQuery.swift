import Texts

/// The query of a request's target, decoded on access. `+` stands for a space.
public struct HTTPQuery: Sendable {
    /// The query as received, without the question mark; empty if there is none.
    public let raw: String

    /// Creates a query from the text after the question mark.
    public init(_ raw: String) { self.raw = raw }

    /// Whether every pair can be decoded: percent signs are followed by two digits, and the result is UTF-8 without U+0000.
    public var isWellFormed: Bool {
        !raw.utf8.contains(UInt8(ascii: "%"))
            || raw.split(separator: "&").allSatisfy { PercentDecoding.decode($0, plusIsSpace: true) != nil }
    }

    /// All pairs in order. A pair that can't be decoded is left out; one without `=` has an empty value.
    public var pairs: [(name: String, value: String)] {
        raw.split(separator: "&").compactMap { pair in
            let parts = pair.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            guard let name = PercentDecoding.decode(parts[0], plusIsSpace: true),
                let value = PercentDecoding.decode(parts.count > 1 ? parts[1] : "", plusIsSpace: true)
            else { return nil }
            return (name, value)
        }
    }

    /// The value of the first pair with that name.
    public subscript(name: String) -> String? {
        raw.isEmpty ? nil : pairs.first { $0.name.hasSameBytes(as: name) }?.value
    }
}
