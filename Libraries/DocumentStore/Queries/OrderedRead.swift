import DocumentModel
import Postgres
import QueryLanguage

/// A `find` whose sort order an index has.
struct OrderedRead {
    let sort: Sort
    /// The statements whose documents are returned in order, one statement's before the next one's; the filter still has to be
    /// applied.
    let regular: [PostgresStatement]
    /// The statement for the other documents, unordered.
    let irregular: PostgresStatement?
    /// The names of the indexes that are used.
    let indexes: [String]

    /// Returns `nil` if no index has the order.
    init?(_ sort: Sort, filter: Filter, table: CollectionTable, partitionKey: String?, hint: String?) {
        self.sort = sort
        let source = "select t.body from \(table.name) t where"
        if let order = IdOrder(sort, filter: filter) {
            var translation = FilterTranslation(partitionKey: partitionKey, indexes: table.indexes, hint: hint)
            translation.hasOnlyKeyTexts = true
            let condition = translation.translate(filter).sql
            regular = order.parts.map { part in
                PostgresStatement(
                    "\(source) \(part.condition) and (\(condition)) order by \(part.order)", translation.parameters)
            }
            translation = FilterTranslation(partitionKey: partitionKey, indexes: table.indexes, hint: hint)
            let others = translation.translate(filter).sql
            irregular = PostgresStatement("\(source) \(order.others) and (\(others))", translation.parameters)
            indexes = ["_id_"]
            return
        }
        guard let order = IndexOrder.best(of: table.indexes, for: sort, filter: filter, hint: hint)
        else { return nil }
        // Postgres chooses between this order and the few documents that have a text.
        let trigrams = table.indexes.filter { $0.model.trigramPath != nil }
        var translation = FilterTranslation(partitionKey: partitionKey, indexes: trigrams, hint: hint)
        let first = order.regular { translation.bind($0) }
        var rest = translation.translate(filter, except: order.boundPaths)
        regular = [
            PostgresStatement(
                "\(source) \(first.condition) and (\(rest)) order by \(first.order)", translation.parameters)
        ]
        indexes = [order.index.model.name] + translation.used.map(\.model.name)
        translation = FilterTranslation(partitionKey: partitionKey, indexes: trigrams, hint: hint)
        let others = order.irregular { translation.bind($0) }
        rest = translation.translate(filter, except: order.boundPaths)
        irregular = PostgresStatement("\(source) \(others) and (\(rest))", translation.parameters)
    }
}

extension DocumentCollection {
    func read(
        _ read: OrderedRead, options: FindOptions, output: ReadOutput, isStreamed: Bool, within limit: TimeLimit,
        _ body: (Document, Int) async throws -> Bool
    ) async throws {
        try await snapshot(within: limit) { transaction in
            var others = TopDocuments(order: .sort(read.sort), skip: 0, limit: options.limit.map { $0 + options.skip })
            if let irregular = read.irregular {
                for try await row in transaction.stream(irregular.sql, irregular.parameters) {
                    if let document = try output.document(of: row) { try others.add(document, size: try row.size(0)) }
                }
            }
            var pending = others.result
            var place = 0
            var bytes = 0
            /// Passes a document on; returns whether to continue.
            func give(_ document: Document, _ size: Int) async throws -> Bool {
                place += 1
                try limit.check()
                if place <= options.skip { return true }
                bytes += size
                if !isStreamed, bytes > Self.maximumCollectedBytes { throw DocumentStoreError.tooMuch }
                guard try await body(output.projected(document), size) else { return false }
                return options.limit.map { place < options.skip + $0 } ?? true
            }
            let wanted = options.limit.map { min($0 + options.skip, 256) } ?? 256
            for part in read.regular {
                for try await row in transaction.stream(part.sql, part.parameters, batch: wanted) {
                    guard let document = try output.document(of: row) else { continue }
                    while let first = pending.first, read.sort.compare(first, document) < 0 {
                        pending.removeFirst()
                        guard try await give(first, 0) else { return }
                    }
                    guard try await give(document, try row.size(0)) else { return }
                }
            }
            for document in pending { guard try await give(document, 0) else { return } }
        }
    }
}
