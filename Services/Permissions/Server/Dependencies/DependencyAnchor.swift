import DocumentModel
import QueryLanguage

/// One equality of a filter, by which its dependency is found: a document that matches the filter has the value at the path.
struct DependencyAnchor: Hashable, Sendable {
    /// The dotted path.
    @ExactText private(set) var field: String
    /// A hash of the value: what has the same one is matched with the whole filter anyway.
    let value: Int64

    private init(field: String, value: Value) {
        self.field = field
        self.value = Self.hash(value)
    }

    /// The first equality that says something: not of `_id`, which is found by itself, nor of what documents without the field have.
    init?(_ filter: Filter) {
        for (path, value) in filter.equalities {
            let field = path.description
            // A component that is a number may be an index of an array as well.
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

    /// Those that a document has at some paths, as a filter would find them: through arrays, and in them.
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
            // An array within an array isn't looked through.
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

    /// Over the canonical text.
    private static func hash(_ value: Value) -> Int64 {
        Int64(bitPattern: Fingerprint(ExtendedJSON.print(value, mode: .canonical).utf8).value)
    }
}
