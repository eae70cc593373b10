public import DocumentModel
import Postgres
import QueryLanguage

extension DocumentCollection {
    /// The bytes of documents that may be sorted or collected in memory, as MongoDB has it for a blocking sort.
    static let maximumCollectedBytes = 100 << 20

    /// The documents that match, all in memory; see ``forEach(_:options:_:)`` for more of them.
    ///
    /// - Throws: `DocumentStoreError` (`badFilter`), also with MongoDB's code 292 where they have more than 100 MiB.
    public func find(_ filter: Document = [:], options: FindOptions = FindOptions()) async throws -> [Document] {
        var documents: [Document] = []
        try await read(filter, options: options) { document, size in
            documents.append(document)
            return true
        }
        return documents
    }

    /// The first document that matches.
    public func findOne(_ filter: Document = [:], options: FindOptions = FindOptions()) async throws -> Document? {
        var options = options
        options.limit = 1
        return try await find(filter, options: options).first
    }

    /// Gives the documents that match one after the other, with bounded memory unless they are sorted.
    ///
    /// - Parameter body: returns whether it wants more.
    public func forEach(
        _ filter: Document = [:], options: FindOptions = FindOptions(),
        _ body: (Document) async throws -> Bool
    ) async throws {
        try await read(filter, options: options, isStreamed: true) { document, _ in try await body(document) }
    }

    /// How many documents match.
    public func countDocuments(_ filter: Document = [:], options: FindOptions = FindOptions()) async throws -> Int {
        guard let table = try await table() else { return 0 }
        let parsed = try self.filter(filter, collation: options.collation)
        let (condition, parameters) = try translation(of: parsed, on: table)
        if condition.isExact {
            let sql = "select count(*) from \(table.name) t where \(condition.sql)"
            let count = try await query(PostgresStatement(sql, parameters)).first?.decode(0, as: Int.self) ?? 0
            return min(max(count - options.skip, 0), options.limit ?? .max)
        }
        var options = options
        (options.sort, options.projection) = (nil, nil)
        var count = 0
        try await forEach(filter, options: options) { _ in
            count += 1
            return true
        }
        return count
    }

    /// How many documents there are, more or less.
    public func estimatedDocumentCount() async throws -> Int { try await countDocuments() }

    /// The values that stand at a path in the documents that match, each once; an array stands for its elements.
    public func distinct(_ path: String, _ filter: Document = [:]) async throws -> [Value] {
        var seen: Set<Value> = []
        var values: [Value] = []
        let path = Path(path)
        try await forEach(filter) { document in
            for value in Value.document(document).reached(by: path.components[...]) where seen.insert(value).inserted {
                values.append(value)
            }
            return true
        }
        return values.sorted { Value.compare($0, $1) < 0 }
    }

    // MARK: How

    func query(_ statement: PostgresStatement) async throws -> PostgresRows {
        do {
            if let session { return try await session.run(statement) }
            return try await store.client.query(statement)
        } catch let error as PostgresError {
            throw DocumentStoreError(error)
        }
    }

    private func read(
        _ document: Document, options: FindOptions, isStreamed: Bool = false,
        _ body: (Document, Int) async throws -> Bool
    ) async throws {
        guard let table = try await table() else { return }
        let filter = try self.filter(document, collation: options.collation)
        let output = try ReadOutput(filter: filter, options: options)
        if let sort = try Self.sort(options.sort, collation: filter.collation),
            let read = OrderedRead(
                sort, filter: filter, table: table, partitionKey: try store.storage(of: app).partitionKey,
                hint: options.hint)
        {
            return try await self.read(read, options: options, output: output, body)
        }
        let (condition, parameters) = try translation(of: filter, on: table, hint: options.hint)
        let sql = "select t.body from \(table.name) t where \(condition.sql)"
        // What Postgres cuts to size itself, or is one document at most, needs no cursor.
        if options.sort == nil, filter.nearness == nil, condition.isExact, let limit = options.limit, limit <= 256 {
            let rows = try await query(
                PostgresStatement("\(sql) limit \(limit) offset \(options.skip)", parameters))
            for row in rows {
                guard let document = try output.document(of: row) else { continue }
                guard try await body(output.projected(document), 0) else { return }
            }
            return
        }
        // The first documents that an index finds are seldom others than those that match.
        if options.sort == nil, filter.nearness == nil, options.skip == 0, let limit = options.limit, limit <= 16 {
            let rows = try await query(PostgresStatement("\(sql) limit \(limit)", parameters))
            let documents = try rows.compactMap { try output.document(of: $0) }
            if documents.count == rows.count {
                for document in documents { guard try await body(output.projected(document), 0) else { return } }
                return
            }
        }
        if let order = try TopDocuments.Order(options: options, filter: filter) {
            var top = TopDocuments(order: order, skip: options.skip, limit: options.limit)
            try await eachRow(sql, parameters) { row in
                if let document = try output.document(of: row) { try top.add(document, size: try row.size(0)) }
                return true
            }
            for document in top.result { guard try await body(output.projected(document), 0) else { return } }
            return
        }
        var place = 0
        var bytes = 0
        try await eachRow(sql, parameters) { row in
            guard let document = try output.document(of: row) else { return true }
            place += 1
            if place <= options.skip { return true }
            bytes += try row.size(0)
            if !isStreamed, bytes > Self.maximumCollectedBytes { throw DocumentStoreError.tooMuch }
            guard try await body(output.projected(document), bytes) else { return false }
            return options.limit.map { place < options.skip + $0 } ?? true
        }
    }

    /// Rows of a cursor, in a snapshot.
    func eachRow(
        _ sql: String, _ parameters: [PostgresValue], _ body: (PostgresRow) async throws -> Bool
    ) async throws {
        do {
            if let session {
                for try await row in session.transaction.stream(sql, parameters) {
                    guard try await body(row) else { return }
                }
                return
            }
            try await store.client.withTransaction { transaction in
                for try await row in transaction.stream(sql, parameters) {
                    guard try await body(row) else { return }
                }
            }
        } catch let error as PostgresError {
            throw DocumentStoreError(error)
        }
    }
}

extension DocumentStoreError {
    static let tooMuch = DocumentStoreError(
        .badFilter, "the documents have more than 100 MiB: limit them, or read them one after the other", mongoCode: 292
    )
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

extension PostgresRow {
    func size(_ index: Int) throws -> Int { try withBytes(index) { $0?.count ?? 0 } }
}

/// What becomes of the rows that Postgres returns.
struct ReadOutput {
    let filter: Filter
    private let projection: Projection?

    init(filter: Filter, options: FindOptions) throws {
        self.filter = filter
        do {
            projection = try options.projection.flatMap { $0.fields.isEmpty ? nil : try Projection($0) }
        } catch {
            throw DocumentStoreError(query: error, .badFilter)
        }
    }

    /// The row's document if it matches.
    func document(of row: PostgresRow) throws -> Document? {
        let document = try row.withBytes(0) { bytes -> Document in
            guard let bytes else { throw DocumentStoreError(.corruptRow, "a body is null") }
            do {
                return try ExtendedJSON.parseDocument(bytes)
            } catch {
                throw DocumentStoreError(.corruptRow, "a body is no Extended JSON", underlying: error)
            }
        }
        do {
            return try filter.evaluate(document) ? document : nil
        } catch {
            throw DocumentStoreError(query: error, .badFilter)
        }
    }

    func projected(_ document: Document) throws -> Document {
        guard let projection else { return document }
        do {
            return try projection.apply(to: document, filter: filter)
        } catch {
            throw DocumentStoreError(query: error, .badFilter)
        }
    }
}
