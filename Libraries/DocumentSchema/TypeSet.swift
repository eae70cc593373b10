public import DocumentModel

/// The types of a `$type` condition.
public struct TypeSet: Sendable {
    /// The types' codes in BSON.
    public let codes: Set<UInt8>

    /// Reads a code, an alias (`number` stands for four) or an array of them.
    public init(_ value: Value) throws(QueryError) {
        var codes: Set<UInt8> = []
        if case .array(let elements) = value {
            guard !elements.isEmpty else { throw .failedToParse("a must match at least one type") }
            for element in elements { codes.formUnion(try Self.codes(of: element)) }
        } else {
            codes = try Self.codes(of: value)
        }
        self.codes = codes
    }

    /// Reads JSON Schema's `type`: a name or an array of them.
    init(jsonTypes value: Value) throws(QueryError) {
        let names: [Value] = if case .array(let elements) = value { elements } else { [value] }
        var codes: Set<UInt8> = []
        for name in names {
            guard case .string(let text) = name else {
                throw .typeMismatch("$jsonSchema keyword 'type' must be a string or an array of strings")
            }
            switch text {
            case "boolean": codes.insert(0x08)
            case "object", "array", "null", "string", "number": codes.formUnion(try Self.codes(of: name))
            case "integer": throw .failedToParse("$jsonSchema type 'integer' is not currently supported.")
            default: throw .badValue("Unknown type name alias: \(text)")
            }
        }
        self.codes = codes
    }

    private static func codes(of value: Value) throws(QueryError) -> Set<UInt8> {
        if case .string(let name) = value {
            if name == "number" { return [0x01, 0x10, 0x12, 0x13] }
            guard let code = names[name] else { throw .badValue("Unknown type name alias: \(name)") }
            return [code]
        }
        guard let number = value.int64Value else {
            throw .typeMismatch("type must be represented as a number or a string")
        }
        guard number == -1 || number == 127 || (1...19).contains(number) else {
            throw .badValue("Invalid numerical type code: \(number)")
        }
        return [UInt8(truncatingIfNeeded: number)]
    }

    private static let names: [String: UInt8] = [
        "double": 0x01, "string": 0x02, "object": 0x03, "array": 0x04, "binData": 0x05, "undefined": 0x06,
        "objectId": 0x07, "bool": 0x08,
        "date": 0x09, "null": 0x0A, "regex": 0x0B, "dbPointer": 0x0C, "javascript": 0x0D, "symbol": 0x0E,
        "javascriptWithScope": 0x0F,
        "int": 0x10, "timestamp": 0x11, "long": 0x12, "decimal": 0x13, "minKey": 0xFF, "maxKey": 0x7F,
    ]

    package func contains(_ value: Value) -> Bool { codes.contains(value.typeCode) }
}
