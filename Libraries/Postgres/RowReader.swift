private import Clibpq

/// Copies the rows or the error of a `PGresult`.
enum RowReader {
    static func read(_ result: OpaquePointer) -> Result<PostgresRows, PostgresError> {
        switch PQresultStatus(result) {
        case PGRES_TUPLES_OK, PGRES_COMMAND_OK, PGRES_EMPTY_QUERY, PGRES_COPY_IN: .success(rows(result))
        case PGRES_PIPELINE_ABORTED: .failure(PostgresError(.aborted, "an earlier statement of the pipeline failed"))
        default: .failure(error(result))
        }
    }

    private static func rows(_ result: OpaquePointer) -> PostgresRows {
        let tag = PQcmdStatus(result).map { String(cString: $0) } ?? ""
        let affected = PQcmdTuples(result).flatMap { Int(String(cString: $0)) } ?? 0
        let columnCount = PQnfields(result), rowCount = PQntuples(result)
        guard columnCount > 0 else {
            return PostgresRows(count: Int(rowCount), commandTag: tag, affectedRows: affected)
        }
        let columns = (0..<columnCount).map {
            PostgresRows.Column(
                name: PQfname(result, $0).map { String(cString: $0) } ?? "", typeOID: PQftype(result, $0))
        }
        var total = 0
        for row in 0..<rowCount {
            for column in 0..<columnCount { total += Int(PQgetlength(result, row, column)) }
        }
        var cells: [PostgresRows.Cell] = []
        cells.reserveCapacity(Int(rowCount) * Int(columnCount))
        var bytes: [UInt8] = []
        bytes.reserveCapacity(total)
        for row in 0..<rowCount {
            for column in 0..<columnCount {
                let length = PQgetlength(result, row, column)
                if PQgetisnull(result, row, column) == 1 {
                    cells.append(.init(offset: 0, length: -1))
                } else {
                    cells.append(.init(offset: bytes.count, length: length))
                    bytes.append(
                        contentsOf: UnsafeRawBufferPointer(start: PQgetvalue(result, row, column), count: Int(length)))
                }
            }
        }
        return PostgresRows(
            storage: .init(columns: columns, bytes: bytes, cells: cells), count: Int(rowCount), commandTag: tag,
            affectedRows: affected)
    }

    static func error(_ result: OpaquePointer) -> PostgresError {
        // The letters of libpq's PG_DIAG_… macros, which are character literals and aren't imported.
        func field(_ letter: Character) -> String? {
            letter.asciiValue.flatMap { PQresultErrorField(result, Int32($0)) }.map { String(cString: $0) }
        }
        let message = field("M") ?? PQresultErrorMessage(result).map { String(cString: $0) } ?? "unknown"
        // An error without an SQLSTATE comes from libpq, not from the server: the connection is lost.
        let sqlstate = field("C")
        var error = PostgresError(sqlstate == nil ? .connectionLost : .server, message, sqlstate: sqlstate)
        error.detail = field("D")
        error.hint = field("H")
        error.context = field("W")
        error.schema = field("s")
        error.table = field("t")
        error.column = field("c")
        error.constraint = field("n")
        return error
    }
}
