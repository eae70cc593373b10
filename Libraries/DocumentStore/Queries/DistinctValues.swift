public import DocumentModel

/// The values that stand at a path in documents, each once; an array stands for its elements.
public struct DistinctValues: Sendable {
    private let path: Path
    private var seen: Set<Value> = []

    /// - Parameter path: dotted.
    public init(_ path: String) { self.path = Path(path) }

    public mutating func add(_ document: Document) {
        seen.formUnion(Value.document(document).reached(by: path.components[...]))
    }

    /// In the order of values.
    public var result: [Value] { seen.sorted { Value.compare($0, $1) < 0 } }
}

extension Value {
    /// All values that a path leads to through arrays; a final array stands for its elements.
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
