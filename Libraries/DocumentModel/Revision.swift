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
        guard let dot = utf8.firstIndex(of: UInt8(ascii: ".")), let epoch = Int32(text[..<dot]),
            let number = Int64(text[utf8.index(after: dot)...]), epoch >= 0, number >= 0
        else { return nil }
        self.init(epoch: epoch, number: number)
    }
}
