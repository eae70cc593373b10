/// A 12-byte ObjectId: four bytes of seconds, five random bytes, three bytes of a counter.
public struct ObjectId: Hashable, Sendable {
    public var high: UInt64
    public var low: UInt32
    public init(high: UInt64, low: UInt32) { self.high = high; self.low = low }
}

public struct Binary: Hashable, Sendable {
    public var bytes: [UInt8]
    public var subtype: UInt8
    public init(_ bytes: [UInt8], subtype: UInt8 = 0) { self.bytes = bytes; self.subtype = subtype }
}

/// An IEEE 754-2008 decimal128 in its BSON (BID) encoding.
public struct Decimal128: Hashable, Sendable {
    public var high: UInt64
    public var low: UInt64
    public init(high: UInt64, low: UInt64) { self.high = high; self.low = low }
}

public struct Timestamp: Hashable, Sendable {
    public var seconds: UInt32
    public var increment: UInt32
    public init(seconds: UInt32, increment: UInt32) { self.seconds = seconds; self.increment = increment }
}

public struct RegularExpression: Hashable, Sendable {
    @ExactText public var pattern: String
    @ExactText public var options: String
    public init(_ pattern: String, options: String = "") { self.pattern = pattern; self.options = options }
}

public struct Code: Sendable {
    public var source: String
    public var scope: Document?
    public init(_ source: String, scope: Document? = nil) { self.source = source; self.scope = scope }
}

public struct DBPointer: Hashable, Sendable {
    @ExactText public var namespace: String
    public var id: ObjectId
    public init(namespace: String, id: ObjectId) { self.namespace = namespace; self.id = id }
}
