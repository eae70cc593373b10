extension Value {
    /// The text of a string or symbol.
    public var stringValue: String? {
        switch self {
        case .string(let text), .symbol(let text): text
        default: nil
        }
    }

    /// The value of a boolean.
    public var boolValue: Bool? { if case .bool(let flag) = self { flag } else { nil } }

    /// The number as a 64-bit integer, for any numeric type; `nil` unless it is a whole number in range.
    public var int64Value: Int64? {
        switch self {
        case .int32(let number): Int64(number)
        case .int64(let number): number
        case .double(let number): Int64(exactly: number)
        case .decimal128(let number): number.int64Value
        default: nil
        }
    }

    /// The number as an `Int`, for any numeric type; `nil` unless it is a whole number in range.
    public var intValue: Int? { int64Value.flatMap { Int(exactly: $0) } }

    /// The number as a double, rounded if necessary; `nil` if the value isn't a number.
    public var doubleValue: Double? {
        switch self {
        case .int32(let number): Double(number)
        case .int64(let number): Double(number)
        case .double(let number): number
        case .decimal128(let number): number.doubleValue
        default: nil
        }
    }

    /// The embedded document.
    public var documentValue: Document? { if case .document(let document) = self { document } else { nil } }

    /// The elements of an array.
    public var arrayValue: [Value]? { if case .array(let elements) = self { elements } else { nil } }

    /// The number of elements of an array; unlike `arrayValue` it holds no reference, so that changing the array later doesn't copy
    /// it.
    public var arrayCount: Int? { if case .array(let elements) = self { elements.count } else { nil } }

    /// The ObjectId.
    public var objectIdValue: ObjectId? { if case .objectId(let id) = self { id } else { nil } }

    /// The milliseconds since 1970 of a date.
    public var dateValue: Int64? { if case .date(let milliseconds) = self { milliseconds } else { nil } }

    /// The binary.
    public var binaryValue: Binary? { if case .binary(let binary) = self { binary } else { nil } }

    /// Whether this is null or undefined.
    public var isNull: Bool {
        switch self {
        case .null, .undefined: true
        default: false
        }
    }

    /// Whether this is a number of any type.
    public var isNumber: Bool {
        switch self {
        case .int32, .int64, .double, .decimal128: true
        default: false
        }
    }

    /// The field of a document; `nil` for any other value.
    public subscript(key: String) -> Value? { if case .document(let document) = self { document[key] } else { nil } }

    /// The element of an array; `nil` outside of its bounds and for any other value.
    public subscript(index: Int) -> Value? {
        if case .array(let elements) = self, elements.indices.contains(index) { elements[index] } else { nil }
    }

    /// Takes the elements out of an array and leaves null, so that they can be changed in place: binding them in a
    /// `switch` would keep a second reference and copy the whole array at the first write.
    @inline(never)
    public mutating func takeArray() -> [Value]? {
        guard case .array(let elements) = self else { return nil }
        self = .null
        return elements
    }

    /// Takes the document out and leaves null; the counterpart of `takeArray`.
    @inline(never)
    public mutating func takeDocument() -> Document? {
        guard case .document(let document) = self else { return nil }
        self = .null
        return document
    }
}
