/// MongoDB's total order of values across types, and the equality that follows from it.
extension Value {
    /// The rank of a type in the order: MinKey, undefined, null, numbers, strings, documents, arrays, binaries, ObjectIds, booleans, dates,
    /// timestamps, regular expressions, DBPointers, code, code with scope, MaxKey. Values with the same rank are compared with each
    /// other.
    public var typeRank: Int {
        switch self {
        case .minKey: -1
        case .undefined: 0
        case .null: 5
        case .int32, .int64, .double, .decimal128: 10
        case .string, .symbol: 15
        case .document: 20
        case .array: 25
        case .binary: 30
        case .objectId: 35
        case .bool: 40
        case .date: 45
        case .timestamp: 47
        case .regex: 50
        case .dbPointer: 55
        case .code(let code): code.scope == nil ? 60 : 65
        case .maxKey: 127
        }
    }

    /// Negative, zero or positive as `a` sorts before, like or after `b`.
    ///
    /// Numbers are compared by their exact value regardless of their type, with NaN first and equal to itself; strings by their
    /// bytes; documents field by field (type, then name, then value).
    public static func compare(_ a: Value, _ b: Value) -> Int {
        switch (a, b) {
        case (.int32(let a), .int32(let b)): return order(a, b)
        case (.string(let a), .string(let b)): return ByteOrder.compare(a, b)
        case (.objectId(let a), .objectId(let b)): return a.high == b.high ? order(a.low, b.low) : order(a.high, b.high)
        case (.date(let a), .date(let b)): return order(a, b)
        case (.bool(let a), .bool(let b)): return order(a ? 1 : 0, b ? 1 : 0)
        case (.document(let a), .document(let b)): return Document.compare(a, b)
        case (.array(let a), .array(let b)): return compareArrays(a, b)
        case (.timestamp(let a), .timestamp(let b)):
            return a.seconds == b.seconds ? order(a.increment, b.increment) : order(a.seconds, b.seconds)
        case (.binary(let a), .binary(let b)):
            if a.bytes.count != b.bytes.count { return order(a.bytes.count, b.bytes.count) }
            return a.subtype == b.subtype ? ByteOrder.compare(a.bytes, b.bytes) : order(a.subtype, b.subtype)
        case (.regex(let a), .regex(let b)):
            let patterns = ByteOrder.compare(a.pattern, b.pattern)
            return patterns != 0 ? patterns : ByteOrder.compare(a.options, b.options)
        default: return compareRare(a, b)
        }
    }

    private static func compareRare(_ a: Value, _ b: Value) -> Int {
        let left = a.typeRank, right = b.typeRank
        if left != right { return order(left, right) }
        switch (a, b) {
        case (.dbPointer(let a), .dbPointer(let b)):
            if a.namespace.utf8.count != b.namespace.utf8.count {
                return order(a.namespace.utf8.count, b.namespace.utf8.count)
            }
            let namespaces = ByteOrder.compare(a.namespace, b.namespace)
            return namespaces != 0 ? namespaces : compare(.objectId(a.id), .objectId(b.id))
        case (.code(let a), .code(let b)):
            let sources = ByteOrder.compare(a.source, b.source)
            if sources != 0 { return sources }
            return Document.compare(a.scope ?? Document(), b.scope ?? Document())
        default:
            if let left = a.stringValue, let right = b.stringValue { return ByteOrder.compare(left, right) }
            if a.isNumber { return NumberOrder.compare(a, b) }
            return 0
        }
    }

    private static func compareArrays(_ a: [Value], _ b: [Value]) -> Int {
        for index in 0..<min(a.count, b.count) {
            let result = compare(a[index], b[index])
            if result != 0 { return result }
        }
        return order(a.count, b.count)
    }

    @inline(__always)
    static func order<T: Comparable>(_ a: T, _ b: T) -> Int { a < b ? -1 : a > b ? 1 : 0 }
}

extension Document {
    /// Compares field by field: the type's rank, then the name, then the value; a document that is a prefix of the other sorts
    /// first.
    public static func compare(_ a: Document, _ b: Document) -> Int {
        for index in 0..<min(a.fields.count, b.fields.count) {
            let left = a.fields[index].value.typeRank, right = b.fields[index].value.typeRank
            if left != right { return Value.order(left, right) }
            let names = ByteOrder.compare(a.fields[index].key, b.fields[index].key)
            if names != 0 { return names }
            let values = Value.compare(a.fields[index].value, b.fields[index].value)
            if values != 0 { return values }
        }
        return Value.order(a.fields.count, b.fields.count)
    }
}

/// The order of numbers of different types by exact value.
enum NumberOrder {
    static func compare(_ a: Value, _ b: Value) -> Int {
        switch (a, b) {
        case (.decimal128(let a), .decimal128(let b)): return Decimal128.compare(a, b)
        case (.decimal128(let a), _): return Decimal128.compare(a, decimal(b))
        case (_, .decimal128(let b)): return Decimal128.compare(decimal(a), b)
        case (.double(let a), .double(let b)): return compareDoubles(a, b)
        case (.double(let a), _): return compare(a, b.int64Value ?? 0)
        case (_, .double(let b)): return -compare(b, a.int64Value ?? 0)
        default: return Value.order(a.int64Value ?? 0, b.int64Value ?? 0)
        }
    }

    private static func compareDoubles(_ a: Double, _ b: Double) -> Int {
        if a < b { return -1 }
        if a > b { return 1 }
        if a == b { return 0 }
        return Value.order(a.isNaN ? 0 : 1, b.isNaN ? 0 : 1)
    }

    private static func compare(_ double: Double, _ integer: Int64) -> Int {
        if double.isNaN { return -1 }
        if double >= 0x1p63 { return 1 }
        if double < -0x1p63 { return -1 }
        let whole = Int64(double.rounded(.towardZero))
        if whole != integer { return Value.order(whole, integer) }
        return compareDoubles(double - double.rounded(.towardZero), 0)
    }

    private static func decimal(_ number: Value) -> Decimal128 {
        switch number {
        case .decimal128(let number): number
        case .double(let number): Decimal128(exactValueOf: number)
        default: Decimal128(number.int64Value ?? 0)
        }
    }
}

extension Value: Hashable, Comparable {
    /// MongoDB's equality: numbers by value across types, documents with their order of fields.
    public static func == (a: Value, b: Value) -> Bool { compare(a, b) == 0 }

    /// MongoDB's order.
    public static func < (a: Value, b: Value) -> Bool { compare(a, b) < 0 }

    /// Equal values have equal hashes: every number is hashed as the double nearest to it.
    public func hash(into hasher: inout Hasher) {
        if let number = doubleValue {
            hasher.combine(number == 0 ? 0 : number.isNaN ? .nan : number)
            return
        }
        hasher.combine(typeRank)
        switch self {
        case .bool(let flag): hasher.combine(flag)
        case .string(let text), .symbol(let text): hasher.combine(ExactText(text))
        case .document(let document): hasher.combine(document)
        case .array(let elements): hasher.combine(elements)
        case .objectId(let id): hasher.combine(id)
        case .date(let milliseconds): hasher.combine(milliseconds)
        case .binary(let binary): hasher.combine(binary)
        case .regex(let expression): hasher.combine(ExactText(expression.pattern))
        case .timestamp(let time): hasher.combine(time)
        case .code(let code): hasher.combine(ExactText(code.source))
        case .dbPointer(let pointer): hasher.combine(pointer.id)
        default: break
        }
    }
}

extension Document: Hashable {
    /// Whether both have the same fields with equal values in the same order.
    public static func == (a: Document, b: Document) -> Bool { compare(a, b) == 0 }

    /// Hashes names and values in their order.
    public func hash(into hasher: inout Hasher) {
        for field in fields {
            hasher.combine(ExactText(field.key))
            hasher.combine(field.value)
        }
    }
}
