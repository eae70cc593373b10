/// The rows of a cursor, fetched in batches, one batch ahead of the reader.
public struct PostgresRowStream: AsyncSequence, Sendable {
    public typealias Element = PostgresRow
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
                if rows.count == stream.batch {
                    next = try await stream.connection.send(stream.fetchStatement(cursor))
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
            let fetched = try await stream.connection.send(stream.fetchStatement(name))
            _ = try await declared.rows()
            return fetched
        }
    }

    private func fetchStatement(_ cursor: String) -> PostgresStatement {
        PostgresStatement("FETCH \(batch) FROM \(cursor)", isPrepared: false)
    }
}

extension PostgresConnection {
    func nextCursorName() -> String {
        cursors += 1
        return "cursor_\(cursors)"
    }
}
