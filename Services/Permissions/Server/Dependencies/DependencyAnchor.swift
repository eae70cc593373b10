import DocumentModel
import QueryLanguage

/// An equality of a filter, by which its dependency is found: a document that matches the filter has this value at this path.
struct DependencyAnchor: Hashable, Sendable {
    /// The dotted path.
    @ExactText private(set) var field: String
    /// A hash of the value: documents with the same hash are matched with the whole filter anyway.
    let value: Int64

    private init(field: String, value: Value) {
        self.field = field
        self.value = Self.hash(value)
    }

    /// The first selective equality: not one of `_id`, which has its own column, nor one with a value that documents without the
    /// field match.
    init?(_ filter: Filter) {
        for (path, value) in filter.equalities {
            let field = path.description
            // A component that is a number may also be an index of an array.
            if field == "_id"
                || field.splitAtBytes(".").contains(where: { $0.utf8.allSatisfy { (0x30...0x39).contains($0) } })
            {
                continue
            }
            guard Self.isIndexed(value), !field.utf8.contains(0) else { continue }
            self.init(field: field, value: value)
            return
        }
        return nil
    }

    /// The anchors that a document has at some paths, found like a filter does: through arrays, and in them.
    static func all(in document: Document, fields: [String]) -> Set<DependencyAnchor> {
        var anchors: Set<DependencyAnchor> = []
        for field in fields {
            collect(.document(document), field.splitAtBytes(".")[...]) { value in
                anchors.insert(DependencyAnchor(field: field, value: value))
            }
        }
        return anchors
    }

    private static func collect(_ value: Value, _ path: ArraySlice<String>, _ found: (Value) -> Void) {
        if let elements = value.arrayValue {
            // Filters don't descend into an array within an array.
            for element in elements where element.arrayValue == nil { collect(element, path, found) }
            return
        }
        guard let component = path.first else {
            if isIndexed(value) { found(value) }
            return
        }
        guard let next = value.documentValue?[component] else { return }
        collect(next, path.dropFirst(), found)
    }

    /// Types whose equal values have the same text. Numbers don't: 1 equals 1.0.
    private static func isIndexed(_ value: Value) -> Bool {
        switch value {
        case .string, .objectId, .bool, .date, .binary: true
        default: false
        }
    }

    /// The hash of the canonical text.
    private static func hash(_ value: Value) -> Int64 {
        Int64(bitPattern: Fingerprint(ExtendedJSON.print(value, mode: .canonical).utf8).value)
    }
}
