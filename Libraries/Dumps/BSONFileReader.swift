import DocumentModel

/// Reads the documents of a `.bson` file in order. It blocks while it reads; only one thread may use it at a time.
final class BSONFileReader {
    /// The content at an offset.
    enum Entry: Sendable {
        case document(Document, offset: Int64)
        /// Bytes that aren't a valid document; their size, and so the start of the next document, is known.
        case bad(BSONError, offset: Int64, size: Int)
    }

    /// The result of one read.
    struct Batch: Sendable {
        var entries: [Entry] = []
        /// The offset after the batch.
        var end: Int64 = 0
        /// The number of bytes of the file that were read so far.
        var bytesRead: Int64 = 0
        /// Why the file can't be read after the batch; `nil` if it can.
        var fault: DumpError?
        var isLast = false
    }

    /// The maximum nesting depth, which is the store's.
    private static let maximumDepth = 100

    private let source: ByteSource
    private var buffer: [UInt8] = []
    private var position = 0
    /// The offset of `buffer`'s first byte.
    private var base: Int64 = 0

    /// - Parameter offset: The offset at which a document begins.
    init(path: String, from offset: Int64 = 0) throws(DumpError) {
        source = try ByteSource(path: path)
        if offset > 0 {
            try source.skip(to: offset)
            buffer = source.leftover
        }
        base = offset
    }

    /// The next documents, up to the given number and about the given number of bytes.
    func next(documents: Int = 2000, bytes: Int = 4 << 20) -> Batch {
        var batch = Batch()
        let start = base + Int64(position)
        do {
            while batch.entries.count < documents, base + Int64(position) - start < Int64(bytes) {
                guard let size = try nextSize() else {
                    batch.isLast = true
                    break
                }
                batch.entries.append(entry(size: size))
                position += size
            }
        } catch {
            batch.fault = error
            batch.isLast = true
        }
        batch.end = base + Int64(position)
        batch.bytesRead = source.bytesRead - Int64(source.path.hasSuffix(".gz") ? 0 : buffer.count - position)
        return batch
    }

    private func entry(size: Int) -> Entry {
        let offset = base + Int64(position)
        return buffer.withUnsafeBytes { bytes in
            do throws(BSONError) {
                let part = UnsafeRawBufferPointer(rebasing: bytes[position..<position + size])
                return .document(
                    try BSON.decode(part, maximumDepth: Self.maximumDepth, refusesRepeatedNames: true),
                    offset: offset)
            } catch {
                return .bad(error, offset: offset, size: size)
            }
        }
    }

    /// The size of the next document, which is completely in the buffer afterwards; `nil` at the end of the file.
    private func nextSize() throws(DumpError) -> Int? {
        guard try fill(4) else {
            if position == buffer.count { return nil }
            throw fault("the file ends inside a document's length")
        }
        let size = buffer[position..<position + 4].reversed().reduce(0) { $0 << 8 | Int($1) }
        guard size >= 5, size <= BSON.maximumBytes else {
            throw fault("no document begins here, and the start of the next one is unknown")
        }
        guard try fill(size) else { throw fault("the file ends inside a document of \(size) bytes") }
        return size
    }

    private func fault(_ message: String) -> DumpError {
        DumpError(.badFile, "\(source.path), byte \(base + Int64(position)): \(message)")
    }

    /// Fills the buffer to at least this number of bytes; returns whether the file has that many.
    private func fill(_ count: Int) throws(DumpError) -> Bool {
        if buffer.count - position >= count { return true }
        buffer.removeFirst(position)
        base += Int64(position)
        position = 0
        while buffer.count < count {
            let before = buffer.count
            try source.read(into: &buffer)
            if buffer.count == before { return false }
        }
        return true
    }
}
