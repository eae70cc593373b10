extension Value {
    /// Whether both have the same type and the same value, bit for bit, so that they are stored and sent identically.
    public func isIdentical(to other: Value) -> Bool {
        switch (self, other) {
        case (.double(let a), .double(let b)): a.bitPattern == b.bitPattern
        case (.decimal128(let a), .decimal128(let b)): a.high == b.high && a.low == b.low
        case (.document(let a), .document(let b)): a.isIdentical(to: b)
        case (.array(let a), .array(let b)):
            a.count == b.count && zip(a, b).allSatisfy { $0.isIdentical(to: $1) }
        case (.code(let a), .code(let b)):
            a.source.hasSameBytes(as: b.source)
                && (a.scope == nil) == (b.scope == nil)
                && (a.scope ?? Document()).isIdentical(to: b.scope ?? Document())
        default: typeCode == other.typeCode && self == other
        }
    }

    /// BSON's code of the type.
    public var typeCode: UInt8 {
        switch self {
        case .double: 0x01
        case .string: 0x02
        case .document: 0x03
        case .array: 0x04
        case .binary: 0x05
        case .undefined: 0x06
        case .objectId: 0x07
        case .bool: 0x08
        case .date: 0x09
        case .null: 0x0A
        case .regex: 0x0B
        case .dbPointer: 0x0C
        case .code(let code): code.scope == nil ? 0x0D : 0x0F
        case .symbol: 0x0E
        case .int32: 0x10
        case .timestamp: 0x11
        case .int64: 0x12
        case .decimal128: 0x13
        case .minKey: 0xFF
        case .maxKey: 0x7F
        }
    }

    /// The name of the type in the `$type` expression: `double`, `string`, `object`, …
    public var typeName: String {
        switch self {
        case .double: "double"
        case .string: "string"
        case .document: "object"
        case .array: "array"
        case .binary: "binData"
        case .undefined: "undefined"
        case .objectId: "objectId"
        case .bool: "bool"
        case .date: "date"
        case .null: "null"
        case .regex: "regex"
        case .dbPointer: "dbPointer"
        case .code(let code): code.scope == nil ? "javascript" : "javascriptWithScope"
        case .symbol: "symbol"
        case .int32: "int"
        case .timestamp: "timestamp"
        case .int64: "long"
        case .decimal128: "decimal"
        case .minKey: "minKey"
        case .maxKey: "maxKey"
        }
    }
}

extension Document {
    /// Whether both have the same fields in the same order with identical values.
    public func isIdentical(to other: Document) -> Bool {
        fields.count == other.fields.count
            && zip(fields, other.fields).allSatisfy {
                $0.key.hasSameBytes(as: $1.key) && $0.value.isIdentical(to: $1.value)
            }
    }
}
