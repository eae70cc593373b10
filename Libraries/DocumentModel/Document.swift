/// An ordered list of fields, as in BSON. Keys are unique; if the input repeats a key, its last value is kept in the place of the
/// first.
///
/// Fields are found by linear search, which is the fastest for documents of usual size.
public struct Document: Sendable {
    /// A key and its value.
    public struct Field: Sendable {
        public var key: String
        public var value: Value
        public init(_ key: String, _ value: Value) { self.key = key; self.value = value }
    }

    /// The fields in their order. Code that changes them directly must keep the keys unique.
    public var fields: [Field]

    /// A document with these fields, whose keys must be unique.
    public init(fields: [Field] = []) { self.fields = fields }

    /// A document from pairs; a repeated key keeps its last value in its first place.
    public init(_ pairs: some Sequence<(String, Value)>) {
        fields = []
        for (key, value) in pairs { self[key] = value }
    }

    /// The value of a field. Setting `nil` removes the field; setting a new key appends it.
    public subscript(key: String) -> Value? {
        get { index(of: key).map { fields[$0].value } }
        set {
            if let index = index(of: key) {
                if let newValue { fields[index].value = newValue } else { fields.remove(at: index) }
            } else if let newValue {
                fields.append(Field(key, newValue))
            }
        }
    }

    /// The place of the field with this name.
    public func index(of key: String) -> Int? { fields.firstIndex { $0.key.hasSameBytes(as: key) } }

    /// The names in their order.
    public var keys: [String] { fields.map(\.key) }

    /// The number of fields.
    public var count: Int { fields.count }

    /// Whether there is no field.
    public var isEmpty: Bool { fields.isEmpty }

    /// The field `_id`.
    public var id: Value? { self["_id"] }
}

extension Document: ExpressibleByDictionaryLiteral {
    /// Fields in the order of the literal; a repeated key keeps its last value.
    public init(dictionaryLiteral elements: (String, Value)...) { self.init(elements) }
}
