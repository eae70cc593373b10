import DocumentModel

/// A filter for the elements that `$[name]` refers to.
struct ArrayFilter: Sendable {
    let name: String
    let filter: Filter

    init(_ document: Document) throws(QueryError) {
        guard let name = Self.name(of: document) else {
            throw .failedToParse("Cannot use an expression without a top-level field name in arrayFilters")
        }
        guard let first = name.utf8.first, first >= UInt8(ascii: "a"), first <= UInt8(ascii: "z"),
            name.utf8.allSatisfy({ $0 | 0x20 >= 0x61 && $0 | 0x20 <= 0x7A || $0 &- 0x30 < 10 })
        else {
            throw .badValue(
                "Error parsing array filter :: caused by :: The top-level field name must be an alphanumeric string beginning with a lowercase letter, found '\(name)'"
            )
        }
        self.name = name
        filter = try Filter(document)
        for other in Self.names(in: document) where other != name {
            throw .failedToParse(
                "Error parsing array filter :: caused by :: Expected a single top-level field name, found '\(name)' and '\(other)'"
            )
        }
    }

    private static func name(of document: Document) -> String? { names(in: document).first }

    private static func names(in document: Document) -> [String] {
        document.fields.flatMap { field -> [String] in
            if field.key.utf8.first == UInt8(ascii: "$") {
                return (field.value.arrayValue ?? []).flatMap { names(in: $0.documentValue ?? Document()) }
            }
            return [Path(field.key).components[0].name]
        }
    }

    func matches(_ element: Value, now: Int64) throws(QueryError) -> Bool {
        try filter.evaluate(Document(fields: [Document.Field(name, element)]), now: now)
    }
}

/// Parses update operators and array filters, and refuses invalid combinations.
enum UpdateParser {
    static func operations(_ document: Document) throws(QueryError) -> [UpdateOperation] {
        var operations: [UpdateOperation] = []
        for field in document.fields {
            guard let `operator` = UpdateOperation.Operator(rawValue: field.key) else {
                throw .failedToParse(
                    "Unknown modifier: \(field.key). Expected a valid update modifier or pipeline-style update specified as an array"
                )
            }
            guard case .document(let changes) = field.value else {
                throw .failedToParse(
                    "Modifiers operate on fields but we found type \(field.value.typeName) instead. For example: {$mod: {<field>: ...}} not {\(field.key): \(field.value)}"
                )
            }
            for change in changes.fields {
                operations.append(try UpdateOperation(`operator`, try UpdatePath(change.key), change.value))
            }
        }
        // The sort keeps the order of equal paths, which are refused next.
        operations.sort { UpdatePath.precedes($0.path, $1.path) }
        try refuseConflicts(operations)
        return operations
    }

    private static func refuseConflicts(_ operations: [UpdateOperation]) throws(QueryError) {
        var paths: [UpdatePath] = []
        for operation in operations {
            paths.append(operation.path)
            if case .rename(let target) = operation.action { paths.append(target) }
        }
        // In sorted order, a path that conflicts with any other directly follows one that it conflicts with.
        paths.sort(by: UpdatePath.precedes)
        for (path, next) in zip(paths, paths.dropFirst()) where path.conflicts(with: next) {
            throw QueryError(code: 40, message: "Updating the path '\(next)' would create a conflict at '\(path)'")
        }
    }

    static func arrayFilters(_ documents: [Document], for operations: [UpdateOperation]) throws(QueryError)
        -> [ExactText:
        ArrayFilter]
    {
        var filters: [ExactText: ArrayFilter] = [:]
        for document in documents {
            let filter = try ArrayFilter(document)
            guard filters.updateValue(filter, forKey: ExactText(filter.name)) == nil else {
                throw .failedToParse("Found multiple array filters with the same top-level field name \(filter.name)")
            }
        }
        var unused = Set(filters.keys)
        for operation in operations {
            for case .filtered(let name) in operation.path.steps {
                guard filters[name] != nil else {
                    throw .badValue("No array filter found for identifier '\(name)' in path '\(operation.path)'")
                }
                unused.remove(name)
            }
        }
        if let name = unused.min() {
            throw .failedToParse(
                "The array filter for identifier '\(name)' was not used in the update \(operations.map(\.path.description))"
            )
        }
        return filters
    }
}
