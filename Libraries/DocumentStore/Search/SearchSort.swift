import DocumentModel

/// The `sort` of a `$search`: `{path: 1}`, `{path: {order: -1}}`, or `{name: {$meta: "searchScore", order: 1}}`.
enum SearchSort {
    /// The sort as a `$sort` over found documents.
    static func stage(_ value: Value) throws(DocumentStoreError) -> Document {
        guard case .document(let sort) = value else { throw SearchError.wrong("\"sort\" must be a document") }
        var order = Document()
        for field in sort.fields {
            guard case .document(let options) = field.value else {
                order[field.key] = field.value
                continue
            }
            for option in options.fields where !["$meta", "order", "noData"].contains(option.key) {
                throw SearchError.wrong("unrecognized field \"sort.\(field.key).\(option.key)\"")
            }
            let direction = options["order"]
            if let direction, ![1, -1].contains(direction.intValue) {
                throw SearchError.wrong("\"sort.\(field.key).order\" must be 1 or -1")
            }
            if options["$meta"] != nil {
                guard options["$meta"]?.stringValue == "searchScore" else {
                    throw SearchError.wrong("\"sort.\(field.key).$meta\" must be \"searchScore\"")
                }
                order[DocumentMetadata.searchScore.field] = direction ?? -1
            } else {
                guard let direction else { throw SearchError.wrong("\"sort.\(field.key).order\" is required") }
                // In an ascending order, a document without the path comes first.
                if let place = options["noData"]?.stringValue, place != "lowest" {
                    throw SearchError.unsupported("sort.\(field.key).noData: \(place)")
                }
                order[field.key] = direction
            }
        }
        return ["$sort": .document(order)]
    }

    /// The paths whose values decide the order.
    static func paths(_ value: Value?) -> [String] {
        (value?.documentValue ?? [:]).fields.filter { $0.value["$meta"] == nil }.map(\.key)
    }
}
