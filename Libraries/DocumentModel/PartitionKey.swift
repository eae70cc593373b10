/// A partition of an app: what one sequence of revisions belongs to.
///
/// Names are compared by their bytes, and ordered by them, as `collate "C"` orders them in Postgres.
public struct PartitionKey: Hashable, Comparable, Sendable {
    /// The app's id.
    @ExactText public var app: String
    /// The partition within the app.
    public var partition: Partition

    /// Names a partition of an app.
    public init(app: String, partition: Partition) {
        self.app = app
        self.partition = partition
    }

    /// By app, then by the partition's text.
    public static func < (a: Self, b: Self) -> Bool {
        (a._app, ExactText(a.partition.text)) < (b._app, ExactText(b.partition.text))
    }

    /// The shard that a partition falls into, by which partitions are shared out; every process computes the same.
    /// - Parameter count: How many shards there are, at least 1.
    /// - Returns: 0 up to `count - 1`.
    public func shard(of count: Int) -> Int {
        var hash = Fingerprint32(app)
        hash.add(UInt8(ascii: "/"))
        hash.add(partition.text)
        return Int(hash.value % UInt32(count))
    }
}
