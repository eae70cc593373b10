import DocumentModel

/// Refuses computed values that could not be stored or sent.
enum ComputedBounds {
    /// Deeper than what is stored, as MongoDB allows it for what is only computed.
    static let bounds = ValueBounds(maximumDepth: 180, maximumBytes: 16 << 20)

    @inline(__always)
    static func check(_ value: Value?) throws(QueryError) {
        switch value {
        case .document?, .array?, .string?: try checkLarge(value ?? .null)
        default: break
        }
    }

    static func check(_ document: Document) throws(QueryError) { try checkLarge(.document(document)) }

    private static func checkLarge(_ value: Value) throws(QueryError) {
        switch bounds.excess(of: value) {
        case nil: break
        case .depth?:
            throw QueryError(
                code: 15, message: "the computed value is nested deeper than \(bounds.maximumDepth) levels")
        case .bytes?:
            throw QueryError(code: 10334, message: "the computed value is larger than \(bounds.maximumBytes) bytes")
        }
    }
}
