/// The number of one changed document in a partition: 1, 2, 3, … without gaps. A new epoch continues where the one before it ended
/// in the restored database.
public struct Revision: Hashable, Comparable, Sendable, CustomStringConvertible {
    /// The number of the epoch, which increases with each restore of the database; 1 is the first.
    public var epoch: Int32
    /// The number of the change; 0 is before the first change.
    public var number: Int64

    public init(epoch: Int32, number: Int64) { self.epoch = epoch; self.number = number }

    public static func < (a: Revision, b: Revision) -> Bool { (a.epoch, a.number) < (b.epoch, b.number) }

    /// `epoch.number`, the text form on the wire and in event ids.
    public var description: String { "\(epoch).\(number)" }

    public init?(_ text: String) {
        // Not generic, and by bytes, for speed: each event has two revisions.
        let utf8 = text.utf8
        guard let dot = utf8.firstIndex(of: UInt8(ascii: ".")), Self.isCanonical(utf8[..<dot]),
            let epoch = Int32(text[..<dot]), Self.isCanonical(utf8[utf8.index(after: dot)...]),
            let number = Int64(text[utf8.index(after: dot)...])
        else { return nil }
        self.init(epoch: epoch, number: number)
    }

    /// Whether a number begins as `description` writes it: without a sign and without leading zeros.
    private static func isCanonical(_ digits: Substring.UTF8View) -> Bool {
        guard let first = digits.first else { return false }
        return first == UInt8(ascii: "0") ? digits.count == 1 : first > UInt8(ascii: "0") && first <= UInt8(ascii: "9")
    }
}
