/// The rows of a cursor, fetched in batches, one batch ahead of the reader.
///
/// A batch has fewer rows if they are large: a row may have megabytes.
public struct PostgresRowStream: AsyncSequence, Sendable {
    public typealias Element = PostgresRow
    /// The number of rows of the first batch, when their size is unknown.
    private static let firstBatch = 8
    /// The approximate size of a batch in bytes.
    private static let batchBytes = 2 << 20

    let connection: PostgresConnection
    let statement: PostgresStatement
    let batch: Int

    public func makeAsyncIterator() -> Iterator { Iterator(stream: self) }

    public struct Iterator: AsyncIteratorProtocol {
        private let stream: PostgresRowStream
        private var rows = PostgresRows()
        private var position = 0
        private var next: PostgresReply?
        private var cursor: String?
        private var isFinished = false
        /// The number of rows that were requested for the batch `next`.
        private var asked = 0

        init(stream: PostgresRowStream) { self.stream = stream }

        public mutating func next() async throws -> PostgresRow? {
            while position == rows.count {
                if isFinished { return nil }
                try await fetch()
            }
            defer { position += 1 }
            return rows[position]
        }

        private mutating func fetch() async throws {
            do {
                if cursor == nil { next = try await open() }
                guard let reply = next, let cursor else { return }
                rows = try await reply.rows()
                position = 0
                if rows.count == asked {
                    let size = Swift.max(rows.storage.bytes.count / asked, 1)
                    asked = Swift.min(Swift.max(PostgresRowStream.batchBytes / size, 1), stream.batch)
                    next = try await stream.connection.send(stream.fetchStatement(cursor, asked))
                } else {
                    isFinished = true
                    _ = try await stream.connection.send(PostgresStatement("CLOSE \(cursor)", isPrepared: false))
                }
            } catch {
                isFinished = true
                rows = PostgresRows()
                position = 0
                throw error
            }
        }

        private mutating func open() async throws -> PostgresReply {
            let name = await stream.connection.nextCursorName()
            cursor = name
            let declare = "DECLARE \(name) NO SCROLL CURSOR FOR \(stream.statement.sql)"
            let declared = try await stream.connection.send(
                PostgresStatement(declare, stream.statement.parameters, isPrepared: false))
            asked = Swift.min(PostgresRowStream.firstBatch, stream.batch)
            let fetched = try await stream.connection.send(stream.fetchStatement(name, asked))
            _ = try await declared.rows()
            return fetched
        }
    }

    private func fetchStatement(_ cursor: String, _ count: Int) -> PostgresStatement {
        PostgresStatement("FETCH \(count) FROM \(cursor)", isPrepared: false)
    }
}

extension PostgresConnection {
    func nextCursorName() -> String {
        cursors += 1
        return "cursor_\(cursors)"
    }
}
