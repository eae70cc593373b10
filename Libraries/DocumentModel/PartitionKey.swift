/// A partition of an app, which has its own sequence of revisions.
///
/// Names are compared and ordered by their bytes, as by `collate "C"` in Postgres.
public struct PartitionKey: Hashable, Comparable, Sendable {
    /// The app's id.
    @ExactText public var app: String
    /// The partition within the app.
    public var partition: Partition

    /// Creates the key of a partition of an app.
    public init(app: String, partition: Partition) {
        self.app = app
        self.partition = partition
    }

    /// Orders by app, then by the partition's text.
    public static func < (a: Self, b: Self) -> Bool {
        (a._app, ExactText(a.partition.text)) < (b._app, ExactText(b.partition.text))
    }

    /// The shard of the partition, by which partitions are distributed among processes; every process computes the same one.
    /// - Parameter count: The number of shards, at least 1.
    /// - Returns: 0 up to `count - 1`.
    public func shard(of count: Int) -> Int {
        var hash = Fingerprint32(app)
        hash.add(UInt8(ascii: "/"))
        hash.add(partition.text)
        return Int(hash.value % UInt32(count))
    }
}
