// Access to collections of exact texts with plain strings.

extension Dictionary where Key == ExactText {
    /// The value of a text.
    @inlinable
    public subscript(text: String) -> Value? {
        get { self[ExactText(wrappedValue: text)] }
        _modify { yield &self[ExactText(wrappedValue: text)] }
    }

    /// The value of a text, or the given default.
    @inlinable
    public subscript(text: String, default value: @autoclosure () -> Value) -> Value {
        get { self[ExactText(wrappedValue: text), default: value()] }
        _modify { yield &self[ExactText(wrappedValue: text), default: value()] }
    }

    /// Removes a text, and returns its value.
    @discardableResult @inlinable
    public mutating func removeValue(forText text: String) -> Value? {
        removeValue(forKey: ExactText(wrappedValue: text))
    }
}

extension Set<ExactText> {
    /// Creates a set of the texts.
    @inlinable
    public init(texts: some Sequence<String>) { self.init(texts.lazy.map { ExactText(wrappedValue: $0) }) }

    /// Whether the set contains a text.
    @inlinable
    public func contains(_ text: String) -> Bool { contains(ExactText(wrappedValue: text)) }

    /// Adds a text.
    /// - Returns: whether it is new.
    @discardableResult @inlinable
    public mutating func insert(_ text: String) -> Bool { insert(ExactText(wrappedValue: text)).inserted }

    /// Removes a text.
    @inlinable
    public mutating func remove(_ text: String) { remove(ExactText(wrappedValue: text)) }

    /// The strings, in no particular order.
    @inlinable
    public var texts: [String] { map(\.wrappedValue) }

    /// The strings in the order of their bytes.
    @inlinable
    public var sortedTexts: [String] { sorted().map(\.wrappedValue) }
}

extension Sequence<String> {
    /// Whether one of the strings has the same bytes.
    @inlinable
    public func containsExactly(_ text: String) -> Bool { contains { $0.hasSameBytes(as: text) } }
}
