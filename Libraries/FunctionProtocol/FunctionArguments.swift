public import DocumentModel

/// The arguments of a call, as the text of an array.
public struct FunctionArguments: Sendable {
    public var text: String
    /// Whether the text is plain JSON, which JavaScript reads faster, and not Extended JSON.
    public var isPlain: Bool

    public init(text: String, isPlain: Bool) {
        self.text = text
        self.isPlain = isPlain
    }

    public init(_ values: [Value]) {
        isPlain = values.allSatisfy(Self.isPlain)
        text = ExtendedJSON.print(.array(values), mode: isPlain ? .relaxed : .exact)
    }

    /// Whether JavaScript has the value's type, so that its plain JSON says as much as its Extended JSON.
    private static func isPlain(_ value: Value) -> Bool {
        switch value {
        case .null, .bool, .string, .int32: true
        case .array(let elements): elements.allSatisfy(isPlain)
        case .document(let document):
            document.fields.allSatisfy { $0.key.utf8.first != UInt8(ascii: "$") && isPlain($0.value) }
        default: false
        }
    }
}
