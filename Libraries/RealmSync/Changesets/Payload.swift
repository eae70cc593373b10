public import DocumentModel

/// The value that an instruction writes.
public enum Payload: Sendable {
    case null
    case int(Int64)
    case bool(Bool)
    /// UTF-8 in the changeset's buffer; not checked.
    case string(BufferRange)
    case binary(BufferRange)
    case timestamp(RealmTimestamp)
    case float(Float)
    case double(Double)
    case decimal(Decimal128)
    case link(table: InternString, key: PrimaryKey)
    case objectId(ObjectId)
    case uuid(UUIDBytes)
    /// An embedded object is created at this place.
    case objectValue
    /// An empty dictionary is created in a mixed value, unless it has one.
    case dictionary
    /// The same with a list.
    case list
    /// The same with a set.
    case set
    /// The key is removed from its dictionary.
    case erased

    /// Its type.
    public var type: PayloadType {
        switch self {
        case .null: .null
        case .int: .int
        case .bool: .bool
        case .string: .string
        case .binary: .binary
        case .timestamp: .timestamp
        case .float: .float
        case .double: .double
        case .decimal: .decimal
        case .link: .link
        case .objectId: .objectId
        case .uuid: .uuid
        case .objectValue: .objectValue
        case .dictionary: .dictionary
        case .list: .list
        case .set: .set
        case .erased: .erased
        }
    }
}

/// The types of payloads and columns, by their numbers in a changeset.
public enum PayloadType: Int64, Sendable {
    case globalKey = -1
    case objectValue = -2
    case dictionary = -3
    case erased = -4
    case list = -5
    case set = -6
    /// As the type of a column: mixed.
    case null = 0
    case int = 1
    case bool = 2
    case string = 3
    case binary = 4
    case timestamp = 5
    case float = 6
    case double = 7
    case decimal = 8
    case link = 9
    case objectId = 10
    case uuid = 11
}

/// A point in time since 1970, in seconds and nanoseconds; both have the same sign.
public struct RealmTimestamp: Hashable, Sendable {
    public var seconds: Int64
    /// Its magnitude is below 10⁹.
    public var nanoseconds: Int32

    public init(seconds: Int64, nanoseconds: Int32) {
        self.seconds = seconds
        self.nanoseconds = nanoseconds
    }
}
