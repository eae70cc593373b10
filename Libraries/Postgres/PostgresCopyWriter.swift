import Texts

/// Writes rows into a table, in COPY's text form.
public struct PostgresCopyWriter {
    private let connection: PostgresConnection
    private var buffer: [UInt8] = []
    private static let chunk = 64 * 1024

    init(connection: PostgresConnection) { self.connection = connection }

    /// Adds a row; waits until the server has taken what was written before, so at most 64 KiB and one row are in memory.
    nonisolated(nonsending) public mutating func write(_ row: [PostgresValue]) async throws {
        for (index, value) in row.enumerated() {
            if index > 0 { buffer.append(UInt8(ascii: "\t")) }
            CopyText.append(value, to: &buffer)
        }
        buffer.append(UInt8(ascii: "\n"))
        if buffer.count >= Self.chunk { try await flush() }
    }

    nonisolated(nonsending) mutating func flush() async throws {
        if buffer.isEmpty { return }
        try await connection.copyData(buffer)
        buffer.removeAll(keepingCapacity: true)
    }
}

/// COPY's text form of values.
enum CopyText {
    static func append(_ value: PostgresValue, to buffer: inout [UInt8]) {
        switch value {
        case .null: buffer.append(contentsOf: "\\N".utf8)
        case .text(let text): appendEscaped(text.utf8, to: &buffer)
        case .utf8(let text): appendEscaped(text, to: &buffer)
        case .int(let number): buffer.append(contentsOf: String(number).utf8)
        case .double(let number): buffer.append(contentsOf: number.postgresText.utf8)
        case .bool(let flag): buffer.append(flag ? UInt8(ascii: "t") : UInt8(ascii: "f"))
        case .bytea(let bytes): appendEscaped(hex(bytes), to: &buffer)
        case .textArray(let items): appendEscaped(array(items.map { $0.map { quoted(Array($0.utf8)) } }), to: &buffer)
        case .utf8Array(let items): appendEscaped(array(items.map { $0.map(quoted) }), to: &buffer)
        case .int8Array(let items): appendEscaped(array(items.map { $0.map { Array(String($0).utf8) } }), to: &buffer)
        case .boolArray(let items):
            appendEscaped(array(items.map { $0.map { Array(($0 ? "t" : "f").utf8) } }), to: &buffer)
        case .byteaArray(let items): appendEscaped(array(items.map { $0.map { quoted(hex($0)) } }), to: &buffer)
        }
    }

    private static func appendEscaped(_ text: some Sequence<UInt8>, to buffer: inout [UInt8]) {
        for byte in text {
            switch byte {
            case UInt8(ascii: "\\"): buffer.append(contentsOf: "\\\\".utf8)
            case UInt8(ascii: "\n"): buffer.append(contentsOf: "\\n".utf8)
            case UInt8(ascii: "\r"): buffer.append(contentsOf: "\\r".utf8)
            case UInt8(ascii: "\t"): buffer.append(contentsOf: "\\t".utf8)
            default: buffer.append(byte)
            }
        }
    }

    private static func hex(_ bytes: [UInt8]) -> [UInt8] { Array("\\x".utf8) + Hex.text(bytes).utf8 }

    private static func quoted(_ element: [UInt8]) -> [UInt8] {
        var text = [UInt8(ascii: "\"")]
        for byte in element {
            if byte == UInt8(ascii: "\"") || byte == UInt8(ascii: "\\") { text.append(UInt8(ascii: "\\")) }
            text.append(byte)
        }
        text.append(UInt8(ascii: "\""))
        return text
    }

    private static func array(_ elements: [[UInt8]?]) -> [UInt8] {
        var text = [UInt8(ascii: "{")]
        for (index, element) in elements.enumerated() {
            if index > 0 { text.append(UInt8(ascii: ",")) }
            text.append(contentsOf: element ?? Array("NULL".utf8))
        }
        text.append(UInt8(ascii: "}"))
        return text
    }
}

extension PostgresConnection {
    /// Copies rows into a table: see ``PostgresClient/copy(into:columns:_:)``. No other caller may use the connection meanwhile.
    @discardableResult
    nonisolated(nonsending) public func copy(
        into table: String, columns: [String],
        _ body: nonisolated(nonsending) (inout PostgresCopyWriter) async throws -> Void
    ) async throws -> Int {
        let names = columns.map(\.postgresIdentifier).joined(separator: ", ")
        try await beginCopy("COPY \(table) (\(names)) FROM STDIN")
        do {
            var writer = PostgresCopyWriter(connection: self)
            try await body(&writer)
            try await writer.flush()
        } catch {
            // If the server reports an error, that is the cause of a failed write.
            do { _ = try await endCopy(failure: "given up") } catch let refusal as PostgresError
                where refusal.sqlstate != "57014"
            {
                if !(error is PostgresError) { throw error }
                throw refusal
            } catch {}
            throw error
        }
        return try await endCopy(failure: nil)
    }
}
