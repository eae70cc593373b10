import DocumentModel
import Texts

/// What somebody holds of a partition, in a form that can be compared: the number of documents, and the sum of a hash of each
/// one's revision and incarnation, modulo 2^64. A revision names one change of one document, so two that hold the same documents in
/// the same state have the same sum, in whatever order they read them. It reveals mistakes; it isn't made against forgery.
public struct Holdings: Hashable, Sendable {
    /// The result of a comparison, as it is on the wire.
    public enum Comparison: String, Sendable {
        case same
        case different
    }

    /// The number of documents.
    public private(set) var count: Int64 = 0
    /// The sum of their hashes.
    public private(set) var sum: UInt64 = 0

    public init() {}

    /// Adds a document.
    ///
    /// - Parameters:
    ///   - revision: The revision of its last change.
    ///   - incarnation: The revision of the insert that created it.
    public mutating func add(revision: Revision, incarnation: Revision) {
        var hash = Fingerprint(revision.description.utf8)
        hash.add(UInt8(ascii: "/"))
        hash.add(incarnation.description.utf8)
        // Mixed, since the hashes of texts that differ in their last digits only have sums that are often equal.
        var mixer = SeededGenerator(seed: hash.value)
        count += 1
        sum &+= mixer.next()
    }

    /// The text on the wire: the count in decimal, a slash, and the sum as 16 lower-case hexadecimal digits.
    public var text: String {
        "\(count)/" + Hex.text(sum)
    }

    /// Parses a text.
    ///
    /// - Returns: `nil` for any other text than ``text`` makes.
    public init?(_ text: String) {
        let parts = text.utf8.split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false)
        guard parts.count == 2, parts[1].count == 16, let count = String(parts[0]).flatMap({ Int64($0) }),
            let sum = String(parts[1]).flatMap({ UInt64($0, radix: 16) }), count >= 0
        else { return nil }
        self.count = count
        self.sum = sum
        guard self.text.hasSameBytes(as: text) else { return nil }
    }
}
