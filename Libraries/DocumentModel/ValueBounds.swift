/// Limits for values that were computed, not parsed: parts that share their storage can make the text of a small value in memory
/// arbitrarily long.
public struct ValueBounds: Sendable {
    /// The deepest nesting of documents and arrays.
    public var maximumDepth: Int
    /// About how many bytes a value may take when it is written.
    public var maximumBytes: Int

    /// Creates bounds; by default depth 100 and 16 MiB, MongoDB's limits for documents.
    public init(maximumDepth: Int = Document.maximumDepth, maximumBytes: Int = 16 << 20) {
        self.maximumDepth = maximumDepth
        self.maximumBytes = maximumBytes
    }

    /// The bound that a value exceeds.
    public enum Excess: Sendable { case depth, bytes }

    /// The bound that a value exceeds; `nil` if it exceeds none. Stops at the bound, so that the time is bounded too.
    public func excess(of value: Value) -> Excess? {
        var rest = maximumBytes
        return excess(of: value, depth: 0, rest: &rest)
    }

    /// The bound that a value exceeds; `nil` if it exceeds none.
    /// - Parameter size: is set to the approximate number of bytes that were counted.
    public func excess(of value: Value, size: inout Int) -> Excess? {
        var rest = maximumBytes
        defer { size = maximumBytes - rest }
        return excess(of: value, depth: 0, rest: &rest)
    }

    /// The bound that a document exceeds; `nil` if it exceeds none.
    public func excess(of document: Document) -> Excess? { excess(of: .document(document)) }

    private func excess(of value: Value, depth: Int, rest: inout Int) -> Excess? {
        rest -= 16
        switch value {
        case .string(let text), .symbol(let text): rest -= text.utf8.count
        case .binary(let binary): rest -= binary.bytes.count
        case .document(let document):
            if depth == maximumDepth { return .depth }
            for field in document.fields {
                rest -= field.key.utf8.count
                if let excess = excess(of: field.value, depth: depth + 1, rest: &rest) { return excess }
            }
        case .array(let elements):
            if depth == maximumDepth { return .depth }
            for element in elements {
                if let excess = excess(of: element, depth: depth + 1, rest: &rest) { return excess }
            }
        default: break
        }
        return rest < 0 ? .bytes : nil
    }
}
