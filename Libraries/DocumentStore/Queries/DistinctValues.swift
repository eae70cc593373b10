public import DocumentModel
public import QueryLanguage

/// The distinct values at a path in documents; an array contributes its elements.
public struct DistinctValues: Sendable {
    /// The most bytes of the values, as in MongoDB.
    private static let maximumBytes = 16 << 20

    private let path: Path
    private let collation: Collation?
    /// The first of the equal values that was found, by the form that is the same for equal values.
    private var seen: [Value: Value] = [:]
    private var bytes = 0

    /// - Parameters:
    ///   - path: A dotted path.
    ///   - collation: Decides which strings are equal; `nil` for those with the same bytes.
    public init(_ path: String, collation: Collation? = nil) {
        self.path = Path(path)
        self.collation = collation
    }

    /// The field that the path begins with; `nil` for a name with U+0000, which Postgres can't store.
    var field: String? { path.components.first.flatMap { $0.name.utf8.contains(0) ? nil : $0.name } }

    /// - Throws: `DocumentStoreError` with MongoDB's 17217 when the values have more than 16 MiB.
    public mutating func add(_ document: Document) throws(DocumentStoreError) {
        for value in Value.document(document).reached(by: path.components[...]) {
            let key = collation?.key(of: value) ?? value
            guard seen.updateValue(seen[key] ?? value, forKey: key) == nil else { continue }
            bytes += value.approximateSize
            if bytes > Self.maximumBytes {
                throw DocumentStoreError(.badFilter, "distinct too big, 16mb cap", mongoCode: 17217)
            }
        }
    }

    /// The values in sorted order.
    public var result: [Value] {
        seen.values.sorted { (collation?.compare($0, $1) ?? Value.compare($0, $1)) < 0 }
    }
}

extension Value {
    /// All values that a path leads to through arrays; a final array contributes its elements.
    fileprivate func reached(by path: ArraySlice<Path.Component>) -> [Value] {
        if case .array(let elements) = self {
            let below = elements.flatMap { element -> [Value] in
                // An array directly inside an array is not searched.
                if case .array = element { return path.isEmpty ? [element] : [] }
                return element.reached(by: path)
            }
            guard let index = path.first?.index, elements.indices.contains(index) else { return below }
            return below + elements[index].reached(by: path.dropFirst())
        }
        guard let first = path.first else { return [self] }
        guard case .document(let document) = self, let value = document[first.name] else { return [] }
        return value.reached(by: path.dropFirst())
    }
}
