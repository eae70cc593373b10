/// The number of one changed document in a partition: 1, 2, 3, … without gaps. A new epoch goes on where the one before it ended, as
/// far as the restored database knew it.
public struct Revision: Hashable, Comparable, Sendable, CustomStringConvertible {
    /// Counts restores of the database; 1 is the first.
    public var epoch: Int32
    /// 0 stands before the first change.
    public var number: Int64

    public init(epoch: Int32, number: Int64) { self.epoch = epoch; self.number = number }

    public static func < (a: Revision, b: Revision) -> Bool { (a.epoch, a.number) < (b.epoch, b.number) }

    /// `epoch.number`, the text form on the wire and in event ids.
    public var description: String { "\(epoch).\(number)" }

    public init?(_ text: some StringProtocol) {
        let parts = text.split(separator: ".", omittingEmptySubsequences: false)
        guard parts.count == 2, let epoch = Int32(parts[0]), let number = Int64(parts[1]), epoch >= 0, number >= 0
        else { return nil }
        self.init(epoch: epoch, number: number)
    }
}
