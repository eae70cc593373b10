/// A BSON value (bsonspec.org, version 1.1).
///
/// It has 17 bytes: payloads larger than two words are boxed. `==` and `Value.compare` are MongoDB's, so a 32-bit 1 equals a double
/// 1.0, and the order of fields in embedded documents matters; `isIdentical(to:)` also compares the types.
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
    /// Milliseconds since 1970-01-01T00:00:00Z; negative for earlier times.
    case date(Int64)
    case binary(Binary)
    case decimal128(Decimal128)
    indirect case regex(RegularExpression)
    case timestamp(Timestamp)
    case minKey
    case maxKey
    case undefined
    case symbol(String)
    indirect case code(Code)
    indirect case dbPointer(DBPointer)
}
