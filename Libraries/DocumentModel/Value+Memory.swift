extension Value {
    /// The bytes that a value takes in memory besides its text, about.
    package static let memoryBytes = 48

    /// The bytes that it takes in memory, about, with its texts and binaries.
    package var memory: Int {
        switch self {
        case .document(let document): document.memory
        case .array(let items): items.reduce(Self.memoryBytes) { $0 + $1.memory }
        case .string(let text): Self.memoryBytes + text.utf8.count
        case .binary(let binary): Self.memoryBytes + binary.bytes.count
        default: Self.memoryBytes
        }
    }
}

extension Document {
    /// The bytes that it takes in memory, about, with its texts and binaries.
    package var memory: Int { fields.reduce(Value.memoryBytes) { $0 + $1.key.utf8.count + $1.value.memory } }
}
