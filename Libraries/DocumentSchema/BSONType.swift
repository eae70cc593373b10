public import DocumentModel

/// The types that a schema can require, by their names in `bsonType`.
public enum BSONType: String, Hashable, Sendable, CaseIterable {
    case double, float, string, object, array, binData, objectId, bool, date, null, regex, javascript, int, timestamp,
        long
    case decimal, uuid, number, mixed, minKey, maxKey

    /// The names of JSON Schema's `type`, and spellings that exports contain.
    init?(alias: String) {
        switch alias {
        case "boolean": self = .bool
        case "integer": self = .long
        case "objectid": self = .objectId
        case "binary": self = .binData
        default: return nil
        }
    }

    /// Whether a value is of this type.
    ///
    /// JavaScript doesn't distinguish number types, so a number has every number type that can represent it exactly: `3` is an
    /// `int`, a `long` and a `double`, `3.5` only a `double`.
    public func accepts(_ value: Value) -> Bool {
        switch (self, value) {
        case (.mixed, _), (.string, .string), (.object, .document), (.array, .array), (.objectId, .objectId),
            (.bool, .bool),
            (.date, .date), (.null, .null), (.regex, .regex), (.javascript, .code), (.timestamp, .timestamp),
            (.decimal, .decimal128), (.minKey, .minKey), (.maxKey, .maxKey), (.string, .symbol):
            true
        case (.binData, .binary(let binary)): binary.subtype != 4
        case (.uuid, .binary(let binary)): binary.subtype == 4 && binary.bytes.count == 16
        case (.int, .int32), (.long, .int32), (.long, .int64), (.double, .double), (.float, .double), (.double, .int32),
            (.float, .int32):
            true
        case (.int, .int64(let number)): Int32(exactly: number) != nil
        case (.double, .int64(let number)), (.float, .int64(let number)): Int64(exactly: Double(number)) == number
        case (.int, .double(let number)): Int32(exactly: number) != nil
        case (.long, .double(let number)): Int64(exactly: number) != nil
        case (.number, .int32), (.number, .int64), (.number, .double), (.number, .decimal128): true
        default: false
        }
    }
}
