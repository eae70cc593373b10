public import DocumentModel
import Postgres
import QueryLanguage

extension DocumentCollection {
    /// The most bytes of documents that may be sorted or collected in memory, which is MongoDB's limit for a blocking sort.
    static let maximumCollectedBytes = 100 << 20

    /// The documents that match, all in memory; see ``forEach(_:options:_:)`` for large results.
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

    /// Passes the matching documents to `body` one after the other, in natural order or that of the sort, with bounded memory
    /// unless they are sorted.
    ///
    /// - Parameter body: Returns whether to continue.
    public func forEach(
        _ filter: Document = [:], options: FindOptions = FindOptions(),
        _ body: (Document) async throws -> Bool
    ) async throws {
        try await read(filter, options: options, isStreamed: true) { document, _ in try await body(document) }
    }

    /// How many documents match.
    public func countDocuments(_ filter: Document = [:], options: FindOptions = FindOptions()) async throws -> Int {
        let parsed = try parse(filter, options)
        guard let table = try await table() else { return 0 }
        let found = try translation(of: parsed, on: table, hint: options.hint, tellingDoubt: true)
        if found.condition.isExact || found.doubt != nil {
            let count = try await count(found, of: parsed.filter, in: table, within: TimeLimit(options.maxTimeMS))
            return min(max(count - options.skip, 0), options.limit ?? .max)
        }
        var options = options
        (options.sort, options.projection, options.isOrdered) = (nil, nil, false)
        var count = 0
        try await forEach(filter, options: options) { _ in
            count += 1
            return true
        }
        return count
    }

    /// The statement that counts the documents that certainly match, and those in doubt.
    static func counting(_ found: TranslatedFilter, in table: CollectionTable) -> PostgresStatement {
        let what =
            found.doubt.map { "count(*) filter (where not (\($0))), count(*) filter (where \($0))" }
            ?? "count(*), 0::bigint"
        return PostgresStatement(
            "select \(what) from \(table.name) t where \(found.condition.sql)", found.parameters)
    }

    private func count(
        _ found: TranslatedFilter, of filter: Filter, in table: CollectionTable, within limit: TimeLimit
    ) async throws -> Int {
        let output = try ReadOutput(filter: filter, options: FindOptions(), now: now)
        return try await snapshot(within: limit) { transaction in
            guard let row = try await transaction.query(Self.counting(found, in: table)).first else { return 0 }
            var count = try row.decode(0, as: Int.self)
            guard let doubt = found.doubt, try row.decode(1, as: Int.self) > 0 else { return count }
            let sql = "select t.body from \(table.name) t where (\(found.condition.sql)) and \(doubt)"
            for try await row in transaction.stream(sql, found.parameters) {
                try limit.check()
                if try output.document(of: row) != nil { count += 1 }
            }
            return count
        }
    }

    /// The number of documents; here it is an exact count.
    public func estimatedDocumentCount() async throws -> Int { try await countDocuments() }

    /// The distinct values at a path in the documents that match; an array contributes its elements.
    public func distinct(
        _ path: String, _ filter: Document = [:], options: FindOptions = FindOptions()
    ) async throws -> [Value] {
        var options = options
        (options.sort, options.projection, options.isOrdered) = (nil, nil, options.collation != nil)
        var values = DistinctValues(path, collation: try collation(options.collation))
        if try await addDistinct(&values, filter, options: options) { return values.result }
        try await forEach(filter, options: options) { document in
            try values.add(document)
            return true
        }
        return values.result
    }

    /// Lets Postgres find one document for each value of the path's first field.
    ///
    /// - Returns: `false` if all documents have to be read instead.
    private func addDistinct(
        _ values: inout DistinctValues, _ filter: Document, options: FindOptions
    ) async throws -> Bool {
        let parsed = try parse(filter, options)
        guard let table = try await table() else { return true }
        let found = try translation(of: parsed, on: table, hint: options.hint)
        // With a collation, the first of several equal values depends on the order of the documents.
        guard found.condition.isExact, parsed.filter.nearness == nil, options.collation == nil, let field = values.field
        else { return false }
        let name = FilterTranslation.literal(field)
        let value = "t.document->\(name)"
        // Only the body has the order of a document's fields.
        let sql = """
            select d.body from \(table.name) d join (
                select min(t._id) as _id from \(table.name) t where (\(found.condition.sql)) and \(value) is not null
                group by \(value), case when jsonb_typeof(\(value)) in ('object', 'array') and jsonb_path_exists(
                    \(value), '$.** ? (@.type() == "object" && !exists(@."$oid") && !exists(@."$date"))') then t._id end
            ) g on g._id = d._id
            """
        try await eachRow(PostgresStatement(sql, found.parameters), within: TimeLimit(options.maxTimeMS)) { row in
            try values.add(row.document(0))
            return true
        }
        return true
    }

    // MARK: How

    func query(_ statement: PostgresStatement, within limit: TimeLimit = TimeLimit(nil)) async throws -> PostgresRows {
        do {
            if limit.statement != nil {
                return try await snapshot(within: limit) { try await $0.query(statement) }
            }
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
        let limit = TimeLimit(options.maxTimeMS)
        try await limit.run {
            try await read(document, options: options, isStreamed: isStreamed, within: limit, body)
        }
    }

    private func read(
        _ document: Document, options: FindOptions, isStreamed: Bool, within limit: TimeLimit,
        _ body: (Document, Int) async throws -> Bool
    ) async throws {
        var options = options
        let parsed = try parse(document, options)
        if parsed.text != nil, let sort = options.sort {
            options.sort = DocumentMetadata.rewritten(["$sort": .document(sort)])["$sort"]?.documentValue
        }
        let filter = parsed.filter
        let output = try ReadOutput(filter: filter, options: options, now: now, hasScore: parsed.text != nil, in: self)
        let sort = try Self.sort(options.sort, collation: filter.collation)
        // An invalid query is refused above, even if the collection doesn't exist.
        guard let table = try await table() else { return }
        if let sort, parsed.text == nil,
            let read = OrderedRead(
                sort, filter: filter, table: table,
                partitionKey: try store.storage(of: app).partitionKey(of: table.namespace),
                hint: try hinted(options.hint, on: table))
        {
            return try await self.read(
                read, options: options, output: output, isStreamed: isStreamed, within: limit, body)
        }
        if let sort, let read = try topRead(sort, of: parsed, on: table, options: options),
            let documents = try await documents(of: read, output, within: limit)
        {
            for document in documents { guard try await body(output.projected(document), 0) else { return } }
            return
        }
        let found = try translation(of: parsed, on: table, hint: options.hint)
        let condition = found.condition
        let natural = try naturalRead(
            found, of: filter, in: table, hint: options.hint, order: options.natural)
        if let read = try idRead(natural, found, of: filter, on: table, options: options) {
            return try await self.read(
                read, options: options, output: output, isStreamed: isStreamed, within: limit, body)
        }
        let columns = found.score.map { "t.body, \($0)" } ?? "t.body"
        if options.sort == nil, filter.nearness == nil, options.skip == 0, options.limit == 1,
            let rows = try await natural.only(columns, { try await query($0, within: limit) })
        {
            let document = try rows.first.flatMap { try output.document(of: $0) }
            if let document { _ = try await body(output.projected(document), 0) }
            return
        }
        // A result that Postgres itself limits to a small number needs no cursor.
        if options.sort == nil, filter.nearness == nil, condition.isExact, let wanted = options.limit, wanted <= 256 {
            let rows = try await query(
                natural.statement(columns, limit: wanted, offset: options.skip), within: limit)
            for row in rows {
                guard let document = try output.document(of: row) else { continue }
                guard try await body(output.projected(document), 0) else { return }
            }
            return
        }
        // Most of the first documents that an index finds match.
        if options.sort == nil, filter.nearness == nil, options.skip == 0, let wanted = options.limit, wanted <= 16 {
            let rows = try await query(natural.statement(columns, limit: wanted), within: limit)
            let documents = try rows.compactMap { try output.document(of: $0) }
            if documents.count == rows.count {
                for document in documents { guard try await body(output.projected(document), 0) else { return } }
                return
            }
        }
        var statement = natural.statement(columns)
        var settings = natural.settings
        if !options.isOrdered {
            let sql = "select \(columns) from \(table.name) t where \(condition.sql)"
            (statement, settings) = (PostgresStatement(sql, found.parameters), nil)
        }
        if let order = try TopDocuments.Order(options: options, filter: filter) {
            var top = TopDocuments(order: order, skip: options.skip, limit: options.limit)
            try await eachRow(statement, settings: settings, within: limit) { row in
                if let document = try output.document(of: row) { try top.add(document, size: try row.size(0)) }
                return true
            }
            for document in top.result { guard try await body(output.projected(document), 0) else { return } }
            return
        }
        if options.limit != nil { settings = nil }
        var place = 0
        var bytes = 0
        try await eachRow(statement, settings: settings, within: limit) { row in
            guard let document = try output.document(of: row) else { return true }
            place += 1
            if place <= options.skip { return true }
            bytes += try row.size(0)
            if !isStreamed, bytes > Self.maximumCollectedBytes { throw DocumentStoreError.tooMuch }
            guard try await body(output.projected(document), bytes) else { return false }
            return options.limit.map { place < options.skip + $0 } ?? true
        }
    }

    /// How a range of `_id`s that no index has in order is read without a sort; `nil` for other reads.
    func idRead(
        _ natural: NaturalRead, _ found: TranslatedFilter, of filter: Filter, on table: CollectionTable,
        options: FindOptions
    ) throws -> OrderedRead? {
        guard natural.needsIdOrder, options.sort == nil, options.isOrdered, filter.nearness == nil, found.score == nil
        else { return nil }
        return OrderedRead(
            try Sort(["_id": 1]), filter: filter, table: table,
            partitionKey: try store.storage(of: app).partitionKey(of: table.namespace), hint: nil)
    }

    /// How Postgres chooses the first documents of a sort; `nil` if it can't.
    func topRead(
        _ sort: Sort, of parsed: (filter: Filter, text: TextQuery?), on table: CollectionTable, options: FindOptions
    ) throws -> TopRead? {
        guard parsed.text == nil, TopRead.isPossible(options, collation: parsed.filter.collation) else { return nil }
        let found = try translation(of: parsed, on: table, hint: options.hint, tellingDoubt: true)
        let natural = try naturalRead(
            found, of: parsed.filter, in: table, hint: options.hint, order: options.natural)
        // Equal documents have one order on all pages, also on those that are sorted here.
        return natural.isInNaturalOrder ? TopRead(sort, options: options, found: found, in: table) : nil
    }

    /// The documents that Postgres chooses; `nil` if all have to be sorted here.
    private func documents(
        of read: TopRead, _ output: ReadOutput, within limit: TimeLimit
    ) async throws -> ArraySlice<Document>? {
        try await snapshot(within: limit) { transaction in
            let rows = try await transaction.pipeline([TopRead.settings, read.statement])[1]
            guard let places = try read.places(rows) else { return nil }
            let bodies = read.bodies(at: places)
            var top = read.top
            for try await row in transaction.stream(bodies.sql, bodies.parameters, batch: 16) {
                try limit.check()
                if let document = try output.document(of: row) { try top.add(document, size: try row.size(0)) }
            }
            return top.result
        }
    }

    /// Reads the rows of a statement with a cursor, in a snapshot.
    ///
    /// - Parameter settings: A statement to run before it.
    func eachRow(
        _ statement: PostgresStatement, settings: PostgresStatement? = nil, within limit: TimeLimit,
        _ body: (PostgresRow) async throws -> Bool
    ) async throws {
        try await snapshot(within: limit) { transaction in
            if let settings { _ = try await transaction.send(settings) }
            for try await row in transaction.stream(statement.sql, statement.parameters) {
                try limit.check()
                guard try await body(row) else { return }
            }
        }
    }

    /// Runs reads in the session's transaction, or in a snapshot of their own.
    func snapshot<R>(within limit: TimeLimit, _ body: (PostgresTransaction) async throws -> R) async throws -> R {
        do {
            guard let session else {
                return try await store.client.withTransaction(isolation: .snapshotReadOnly) { transaction in
                    if let statement = limit.statement { _ = try await transaction.send(statement) }
                    return try await body(transaction)
                }
            }
            try await session.prepare()
            return try await session.limited(by: limit) { try await body(session.transaction) }
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

extension PostgresRow {
    /// A document's text.
    func document(_ index: Int) throws -> Document {
        try withBytes(index) { bytes -> Document in
            guard let bytes else { throw DocumentStoreError(.corruptRow, "a body is null") }
            do {
                return try ExtendedJSON.parseDocument(bytes)
            } catch {
                throw DocumentStoreError(.corruptRow, "a body isn't Extended JSON", underlying: error)
            }
        }
    }

    func size(_ index: Int) throws -> Int { try withBytes(index) { $0?.count ?? 0 } }
}
