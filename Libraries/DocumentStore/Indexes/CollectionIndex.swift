import DocumentModel

/// An index that stands, and the SQL that names what it has.
///
/// A path's expression is a call of `partita.index_key`: bytes that sort as MongoDB sorts values, so that one B-tree serves
/// equality, ranges, compound prefixes and sorts. An array, at the path or on the way, has the key `ff`; what its elements
/// are is in a GIN index beside it, of the documents that have one.
struct CollectionIndex: Sendable {
    let model: IndexModel
    /// The Postgres index, in the table's schema.
    let relation: String
    /// The index of arrays' elements; only the first path has one.
    let elements: String?
    /// Condition of the documents that it has; `nil` for all.
    let predicate: String?
    /// Whether there were arrays at the first path, or on the way, when the index was last looked at. Postgres decides about each
    /// statement: being wrong makes it slow.
    var hasArrays = false

    init(_ model: IndexModel, relation: String, elements: String?) throws(DocumentStoreError) {
        self.model = model
        self.relation = relation
        self.elements = elements
        predicate = try IndexPredicate(model).sql
    }

    /// The key of a path, as the index has it.
    func expression(_ place: Int) -> String {
        "\(model.isUnique ? "partita.unique_key" : "partita.index_key")(document, \(Self.steps(model.keys[place].path)))"
    }

    /// The keys of the elements at the first path.
    var elementsExpression: String { "partita.element_keys(document, \(Self.steps(model.keys[0].path)))" }

    /// Whether an array is at the first path or on the way.
    var elementsPredicate: String {
        let steps = Path(model.keys[0].path).components.map { FilterTranslation.literal($0.name) }
        return "("
            + (1...steps.count).map { count in
                "jsonb_typeof(document" + steps.prefix(count).map { "->" + $0 }.joined() + ") = 'array'"
            }.joined(separator: " or ") + ")"
    }

    private static func steps(_ path: String) -> String {
        "array[" + Path(path).components.map { FilterTranslation.literal($0.name) }.joined(separator: ", ") + "]"
    }

    /// Statements that build it; none of them may stand in a transaction.
    func building(_ table: CollectionTable) -> [String] {
        let suffix = predicate.map { " where \($0)" } ?? ""
        if let text = TextIndexSQL(model) {
            return [
                "create index concurrently \(relation.postgresIdentifier) on \(table.name) using gin (\(text.vector))\(suffix)"
            ]
        }
        let columns = model.keys.indices.map { place in
            expression(place) + (model.keys[place].direction == .descending ? " desc" : "")
        }
        let unique = model.isUnique ? "unique " : ""
        var statements = [
            "create \(unique)index concurrently \(relation.postgresIdentifier) on \(table.name) (\(columns.joined(separator: ", ")))\(suffix)"
        ]
        if let elements {
            let both = ([elementsPredicate] + (predicate.map { ["(\($0))"] } ?? [])).joined(separator: " and ")
            statements.append(
                "create index concurrently \(elements.postgresIdentifier) on \(table.name) using gin (\(elementsExpression)) where \(both)"
            )
        }
        return statements
    }
}
