extension Value: ExpressibleByBooleanLiteral {
    /// A boolean.
    public init(booleanLiteral value: Bool) { self = .bool(value) }
}

extension Value: ExpressibleByIntegerLiteral {
    /// A 32-bit integer if the literal fits, else a 64-bit one, as in MongoDB's drivers.
    public init(integerLiteral value: Int64) { self = .integer(value) }
}

extension Value: ExpressibleByFloatLiteral {
    /// A double.
    public init(floatLiteral value: Double) { self = .double(value) }
}

extension Value: ExpressibleByStringLiteral, ExpressibleByStringInterpolation {
    /// A string.
    public init(stringLiteral value: String) { self = .string(value) }
}

extension Value: ExpressibleByArrayLiteral {
    /// An array.
    public init(arrayLiteral elements: Value...) { self = .array(elements) }
}

extension Value: ExpressibleByDictionaryLiteral {
    /// A document with its fields in the order of the literal; a repeated key keeps its last value.
    public init(dictionaryLiteral elements: (String, Value)...) { self = .document(Document(elements)) }
}

extension Value {
    /// The narrowest integer: 32 bits if the number fits, else 64.
    public static func integer(_ number: Int64) -> Value {
        if let narrow = Int32(exactly: number) { .int32(narrow) } else { .int64(number) }
    }

    /// The narrowest integer of an `Int`.
    public static func integer(_ number: Int) -> Value { integer(Int64(number)) }
}
