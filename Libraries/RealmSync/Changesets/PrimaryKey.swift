public import DocumentModel

/// What identifies an object in its table.
public enum PrimaryKey: Hashable, Sendable {
    case null
    case int(Int64)
    case string(InternString)
    case objectId(ObjectId)
    case uuid(UUIDBytes)
    /// The key of an object whose table has no primary key. Synchronized tables have one, so that no SDK sends this.
    case globalKey(high: UInt64, low: UInt64)
}

/// The 16 bytes of a UUID, the first ones in `high`, big-endian.
public struct UUIDBytes: Hashable, Sendable {
    public var high: UInt64
    public var low: UInt64

    public init(high: UInt64, low: UInt64) {
        self.high = high
        self.low = low
    }
}
