import DocumentModel

/// Refuses computed values that are too deep or too large.
enum ComputedBounds {
    /// Deeper than for stored documents, as in MongoDB for computed values.
    static let bounds = ValueBounds(maximumDepth: 180, maximumBytes: 16 << 20)

    /// - Returns: the value's approximate size in bytes, if it was counted.
    @inline(__always) @discardableResult
    static func check(_ value: Value?) throws(QueryError) -> Int {
        switch value {
        case .document?, .array?, .string?: try checkLarge(value ?? .null)
        default: 0
        }
    }

    static func check(_ document: Document) throws(QueryError) { _ = try checkLarge(.document(document)) }

    private static func checkLarge(_ value: Value) throws(QueryError) -> Int {
        var size = 0
        switch bounds.excess(of: value, size: &size) {
        case nil: return size
        case .depth?:
            throw QueryError(
                code: 15, message: "the computed value is nested deeper than \(bounds.maximumDepth) levels")
        case .bytes?:
            throw QueryError(code: 10334, message: "the computed value is larger than \(bounds.maximumBytes) bytes")
        }
    }
}
