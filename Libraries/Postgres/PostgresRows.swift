/// The rows that a statement returned, copied out of libpq into one buffer.
public struct PostgresRows: Sendable, RandomAccessCollection {
    /// A column of a result.
    public struct Column: Sendable, Hashable {
        public var name: String
        /// The object id of its type.
        public var typeOID: UInt32
    }

    struct Cell: Sendable {
        var offset: Int
        /// The length in bytes; -1 for null.
        var length: Int32
    }

    final class Storage: Sendable {
        let columns: [Column]
        let bytes: [UInt8]
        let cells: [Cell]
        init(columns: [Column], bytes: [UInt8], cells: [Cell]) {
            self.columns = columns
            self.bytes = bytes
            self.cells = cells
        }
        static let empty = Storage(columns: [], bytes: [], cells: [])
    }

    let storage: Storage
    /// The number of rows.
    public let count: Int
    /// The server's command tag, e.g. `INSERT 0 1`, `COMMIT`.
    public let commandTag: String
    /// The number of rows that were inserted, updated, deleted, selected or copied.
    public let affectedRows: Int

    init(storage: Storage = .empty, count: Int = 0, commandTag: String = "", affectedRows: Int = 0) {
        self.storage = storage
        self.count = count
        self.commandTag = commandTag
        self.affectedRows = affectedRows
    }

    public var columns: [Column] { storage.columns }
    public var startIndex: Int { 0 }
    public var endIndex: Int { count }
    public subscript(position: Int) -> PostgresRow {
        precondition(position >= 0 && position < count, "row out of range")
        return PostgresRow(storage: storage, row: position)
    }

    /// The first column of every row.
    public func decode<T: PostgresDecodable>(_ type: T.Type) throws(PostgresError) -> [T] {
        var decoded: [T] = []
        decoded.reserveCapacity(count)
        for row in self { decoded.append(try row.decode(0)) }
        return decoded
    }

    /// Every row, decoded by position: `rows.decode((String, Int64?).self)`.
    public func decode<T0: PostgresDecodable, T1: PostgresDecodable, each T: PostgresDecodable>(
        _ type: (T0, T1, repeat each T).Type
    ) throws(PostgresError) -> [(T0, T1, repeat each T)] {
        var decoded: [(T0, T1, repeat each T)] = []
        decoded.reserveCapacity(count)
        for row in self { decoded.append(try row.decode(type)) }
        return decoded
    }
}

/// One row of a result.
public struct PostgresRow: Sendable {
    let storage: PostgresRows.Storage
    let row: Int

    /// The column at a place, counted from 0.
    public func cell(_ index: Int) throws(PostgresError) -> PostgresCell {
        guard index >= 0, index < storage.columns.count else {
            throw PostgresError(.decoding, "no column \(index), there are \(storage.columns.count)")
        }
        return PostgresCell(storage: storage, column: index, cell: storage.cells[row * storage.columns.count + index])
    }

    /// The column with a name; the first one if several have it.
    public func cell(_ name: String) throws(PostgresError) -> PostgresCell {
        guard let index = storage.columns.firstIndex(where: { $0.name == name }) else {
            throw PostgresError(.decoding, "no column \(name)")
        }
        return try cell(index)
    }

    /// Throws ``PostgresError/Code/decoding`` if the column is missing, null (unless `T` is optional) or not a `T`.
    public func decode<T: PostgresDecodable>(_ name: String, as type: T.Type = T.self) throws(PostgresError) -> T {
        try T.decode(try cell(name))
    }

    /// Throws ``PostgresError/Code/decoding`` if the column is missing, null (unless `T` is optional) or not a `T`.
    public func decode<T: PostgresDecodable>(_ index: Int, as type: T.Type = T.self) throws(PostgresError) -> T {
        try T.decode(try cell(index))
    }

    /// The first columns by position: `let (id, head) = try row.decode((String, Int64).self)`.
    public func decode<T0: PostgresDecodable, T1: PostgresDecodable, each T: PostgresDecodable>(
        _ type: (T0, T1, repeat each T).Type
    ) throws(PostgresError) -> (T0, T1, repeat each T) {
        var index = 1
        func next<U: PostgresDecodable>(_ type: U.Type) throws(PostgresError) -> U {
            index += 1
            return try decode(index, as: type)
        }
        return (try decode(0), try decode(1), repeat try next((each T).self))
    }

    /// Runs `body` with the bytes of a column as the server sent them (text form), `nil` for null. They are valid inside `body` only.
    public func withBytes<R>(_ index: Int, _ body: (UnsafeRawBufferPointer?) throws -> R) throws -> R {
        let cell = try cell(index)
        if cell.isNull { return try body(nil) }
        return try cell.withBytes(body)
    }
}

/// One value of a row, in the text form that the server sent.
public struct PostgresCell: Sendable {
    let storage: PostgresRows.Storage
    let columnIndex: Int
    let cell: PostgresRows.Cell

    init(storage: PostgresRows.Storage, column: Int, cell: PostgresRows.Cell) {
        self.storage = storage
        self.columnIndex = column
        self.cell = cell
    }

    public var column: PostgresRows.Column { storage.columns[columnIndex] }
    public var isNull: Bool { cell.length < 0 }

    /// The bytes, empty for null; valid inside `body` only.
    public func withBytes<R, E: Error>(_ body: (UnsafeRawBufferPointer) throws(E) -> R) throws(E) -> R {
        let range = Int(cell.offset)..<Int(cell.offset) + Int(Swift.max(cell.length, 0))
        let result: Result<R, E> = storage.bytes.withUnsafeBytes { bytes in
            do throws(E) { return .success(try body(UnsafeRawBufferPointer(rebasing: bytes[range]))) } catch {
                return .failure(error)
            }
        }
        return try result.get()
    }

    /// The text; throws for null.
    public var text: String {
        get throws(PostgresError) {
            if isNull { throw PostgresError(.decoding, "column \(column.name) is null") }
            return withBytes { String(decoding: $0, as: UTF8.self) }
        }
    }

    func mismatch(_ type: String) -> PostgresError {
        PostgresError(.decoding, "column \(column.name) (type \(column.typeOID)) is not \(type)")
    }
}
