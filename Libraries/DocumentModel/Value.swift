/// A BSON value (bsonspec.org, version 1.1).
public enum Value: Sendable {
    case null
    case bool(Bool)
    case int32(Int32)
    case int64(Int64)
    case double(Double)
    case string(String)
    case document(Document)
    case array([Value])
    case objectId(ObjectId)
    /// Milliseconds since 1970-01-01T00:00:00Z; negative before.
    case date(Int64)
    case binary(Binary)
    case decimal128(Decimal128)
    case regex(RegularExpression)
    case timestamp(Timestamp)
    case minKey
    case maxKey
    case undefined
    case symbol(String)
    case code(Code)
    case dbPointer(DBPointer)
}
