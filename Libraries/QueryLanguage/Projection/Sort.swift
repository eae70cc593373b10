import DocumentModel

/// An order of documents by the values at some paths.
public struct Sort: Sendable {
    /// One path of the order.
    public struct Key: Sendable {
        /// The path of the value; `nil` for the whole element (`$push` with `$sort: 1`).
        public let path: Path?
        /// Whether values are sorted from the smallest to the largest.
        public let ascending: Bool
    }

    /// The paths, the most significant first.
    public let keys: [Key]
    private(set) var collation: Collation?

    /// The most keys of a sort; MongoDB's limit.
    private static let maximumKeys = 32

    /// The sort document; `nil` for the order of whole elements.
    public var document: Document? {
        var document = Document()
        for key in keys {
            guard let path = key.path else { return nil }
            document[path.description] = key.ascending ? 1 : -1
        }
        return document
    }

    /// Reads `{path: 1, other: -1}`.
    public init(_ document: Document, collation: Collation? = nil) throws(QueryError) {
        guard document.count <= Self.maximumKeys else {
            throw QueryError(code: 13103, message: "too many sort keys: the limit is \(Self.maximumKeys)")
        }
        var keys: [Key] = []
        for field in document.fields {
            if case .document(let meta) = field.value, meta["$meta"] != nil { throw .notSupported("$meta in a sort") }
            guard field.key != "$natural" else {
                throw .badValue("$natural sort can only be 1 or -1, and stands alone, in a find or a write")
            }
            guard let direction = field.value.int64Value, direction == 1 || direction == -1 else {
                throw QueryError(
                    code: field.value.isNumber ? 15975 : 15974,
                    message: "$sort key ordering must be 1 (for ascending) or -1 (for descending)")
            }
            keys.append(Key(path: try Path(field: field.key), ascending: direction == 1))
        }
        self.keys = keys
        self.collation = collation
    }

    init(wholeElementAscending ascending: Bool) {
        keys = [Key(path: nil, ascending: ascending)]
        collation = nil
    }

    /// The same order with strings compared by a collation.
    func collated(by collation: Collation?) -> Sort {
        var sort = self
        sort.collation = collation
        return sort
    }

    /// Sorts documents; those that are equal keep their order.
    public func sort(_ documents: inout [Document]) {
        var values = documents.map { Value.document($0) }
        sort(&values)
        documents = values.compactMap(\.documentValue)
    }

    /// Negative, zero or positive if `a` sorts before, like or after `b`.
    public func compare(_ a: Document, _ b: Document) -> Int { compare(sortKeys(.document(a)), sortKeys(.document(b))) }

    /// Sorts elements, which need not be documents.
    func sort(_ elements: inout [Value]) {
        let keyed = elements.map { (keys: sortKeys($0), value: $0) }
        elements = keyed.sorted { compare($0.keys, $1.keys) < 0 }.map(\.value)
    }

    func compare(_ a: [Value], _ b: [Value]) -> Int {
        for (index, key) in keys.enumerated() {
            let order = collation.compare(a[index], b[index])
            if order != 0 { return key.ascending ? order : -order }
        }
        return 0
    }

    /// The value for each key: for an array its smallest element, or the largest if the order descends; null for a missing value.
    func sortKeys(_ value: Value) -> [Value] {
        keys.map { key in
            guard let path = key.path else { return value }
            guard case .document(let document) = value else { return .null }
            var best: Value?
            func offer(_ value: Value) {
                guard let present = best else { best = value; return }
                let order = collation.compare(value, present)
                if key.ascending ? order < 0 : order > 0 { best = value }
            }
            Self.collect(.document(document), path.components[...], offer)
            return best ?? .null
        }
    }

    private static func collect(_ value: Value, _ path: ArraySlice<Path.Component>, _ offer: (Value) -> Void) {
        guard let first = path.first else {
            // An empty array sorts before null.
            guard case .array(let elements) = value else { offer(value); return }
            if elements.isEmpty { offer(.undefined) } else { for element in elements { offer(element) } }
            return
        }
        switch value {
        case .document(let document):
            guard let index = document.index(of: first.name) else { offer(.null); return }
            collect(document.fields[index].value, path.dropFirst(), offer)
        case .array(let elements):
            if let index = first.index, index < elements.count {
                collect(elements[index], path.dropFirst(), offer)
                return
            }
            // Below an empty array the path is missing, as in an index.
            if elements.isEmpty { offer(.null) }
            for element in elements {
                if case .document = element { collect(element, path, offer) } else { offer(.null) }
            }
        default: offer(.null)
        }
    }
}
