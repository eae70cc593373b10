import DocumentModel

/// A geospatial condition.
public struct GeoCondition: Sendable {
    /// Whether it also orders the results by distance.
    public let isNear: Bool

    init(_ name: String, _ operand: Value, siblings: Document) throws(QueryError) { throw .notSupported(name) }

    func matches(_ value: Value?) -> Bool { false }
}
