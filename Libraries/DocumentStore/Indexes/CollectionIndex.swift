import DocumentModel

/// An existing index, and the SQL expressions that it consists of.
///
/// A path's expression is a call of `partita.index_key`: bytes that sort as MongoDB sorts values, so that one B-tree serves
/// equality, ranges, compound prefixes and sorts. An array at the path, or along it, has the key `ff`; the keys of its elements are
/// in an additional GIN index, of the documents that have an array there.
struct CollectionIndex: Sendable {
    let model: IndexModel
    /// The Postgres index, in the table's schema.
    let relation: String
    /// The name of the GIN index of array elements at the first path; `nil` if there is none.
    let elements: String?
    /// The condition of the documents that are in the index; `nil` for all.
    let predicate: String?
    /// Whether there were arrays at the first path, or along it, when the index was last examined. It only affects how fast a
    /// statement is, not its result.
    var hasArrays = false

    init(_ model: IndexModel, relation: String, elements: String?) throws(DocumentStoreError) {
        self.model = model
        self.relation = relation
        self.elements = elements
        predicate = try IndexPredicate(model).sql
    }

    /// The expression of the key at a place of the index.
    func expression(_ place: Int) -> String {
        "\(model.isUnique ? "partita.unique_key" : "partita.index_key")(document, \(Self.steps(model.keys[place].path)))"
    }

    /// The expression of the keys of the elements at the first path.
    var elementsExpression: String { "partita.element_keys(document, \(Self.steps(model.keys[0].path)))" }

    /// The expression of the texts at the first path, in which an index by trigrams searches.
    var textsExpression: String { "partita.texts(document, \(Self.steps(model.keys[0].path)))" }

    /// The condition that an array is at the first path or along it.
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

    /// The statements that build the index, none if it is only recorded. None of them may run in a transaction.
    /// - Parameter trigrams: The operator class of an index by trigrams.
    func building(_ table: CollectionTable, trigrams: String) -> [String] {
        if model.spherePath != nil { return [] }
        let suffix = predicate.map { " where \($0)" } ?? ""
        let inverted =
            TextIndexSQL(model)?.vector ?? (model.trigramPath != nil ? "\(textsExpression) \(trigrams)" : nil)
        if let inverted {
            return [
                "create index concurrently \(relation.postgresIdentifier) on \(table.name) using gin (\(inverted))\(suffix)"
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
