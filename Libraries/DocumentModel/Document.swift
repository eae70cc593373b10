/// An ordered list of fields, as in BSON. Keys are unique; where the input repeats one, the last value stays in the place of the first.
public struct Document: Sendable {
    public struct Field: Sendable {
        public var key: String
        public var value: Value
        public init(_ key: String, _ value: Value) { self.key = key; self.value = value }
    }

    public var fields: [Field]

    public init(fields: [Field] = []) { self.fields = fields }

    /// The value of a field. Setting `nil` removes the field; setting a new key appends it.
    public subscript(key: String) -> Value? {
        get { fields.first { $0.key == key }?.value }
        set {
            if let index = fields.firstIndex(where: { $0.key == key }) {
                if let newValue { fields[index].value = newValue } else { fields.remove(at: index) }
            } else if let newValue {
                fields.append(Field(key, newValue))
            }
        }
    }
}

extension Document: ExpressibleByDictionaryLiteral {
    public init(dictionaryLiteral elements: (String, Value)...) {
        self.init(fields: elements.map { Field($0.0, $0.1) })
    }
}
