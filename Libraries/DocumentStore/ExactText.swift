import DocumentModel

/// A text compared by its bytes, as Postgres compares keys: Swift calls different bytes equal where Unicode does.
struct ExactText: Hashable, Comparable, Sendable {
    let text: String

    init(_ text: String) { self.text = text }

    static func == (a: ExactText, b: ExactText) -> Bool { a.text.hasSameBytes(as: b.text) }
    static func < (a: ExactText, b: ExactText) -> Bool { ByteOrder.compare(a.text, b.text) < 0 }

    func hash(into hasher: inout Hasher) {
        var text = text
        text.withUTF8 { hasher.combine(bytes: UnsafeRawBufferPointer($0)) }
    }
}
