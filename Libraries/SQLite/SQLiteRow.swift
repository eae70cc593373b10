/// One row of a result.
public struct SQLiteRow: Sendable, Hashable {
    public let columns: [String]
    public let values: [SQLiteValue]

    /// The value at an index, from 0. Throws ``SQLiteError/Code/decoding`` if it isn't a `T`.
    public func decode<T: SQLiteDecodable>(_ index: Int, as type: T.Type = T.self) throws(SQLiteError) -> T {
        guard values.indices.contains(index) else { throw SQLiteError(.decoding, "no column \(index)") }
        guard let value = T(sqlite: values[index]) else {
            throw SQLiteError(.decoding, "column \(columns[index]) is not a \(T.self)")
        }
        return value
    }

    /// The value of a column; the first one if several have the name. Throws ``SQLiteError/Code/decoding`` if it isn't a `T`.
    public func decode<T: SQLiteDecodable>(_ name: String, as type: T.Type = T.self) throws(SQLiteError) -> T {
        guard let index = columns.firstIndex(of: name) else { throw SQLiteError(.decoding, "no column \(name)") }
        return try decode(index)
    }
}
