import DocumentModel
import Glibc

/// Writes a file of a dump, under a temporary name until it is complete. Only one task may use it at a time.
///
/// `@unchecked Sendable`: only its creator uses it.
final class DumpWriter: @unchecked Sendable {
    private static let chunk = 1 << 20

    private let path: String
    private let descriptor: Int32
    private var buffer: [UInt8] = []

    init(path: String) throws(DumpError) {
        self.path = path
        descriptor = open(path + ".part", O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0o644)
        guard descriptor >= 0 else { throw DumpError.system(.notWritable, "can't open", path) }
    }

    deinit { close(descriptor) }

    func write(_ document: Document) throws(DumpError) {
        do {
            buffer += try BSON.encode(document)
        } catch {
            throw DumpError(.notWritable, "\(path): a document can't be written as BSON: \(error)")
        }
        if buffer.count >= Self.chunk { try flush() }
    }

    func write(_ bytes: [UInt8]) throws(DumpError) {
        buffer += bytes
        if buffer.count >= Self.chunk { try flush() }
    }

    /// Completes the file and gives it its final name.
    func finish() throws(DumpError) {
        try flush()
        guard fsync(descriptor) == 0, rename(path + ".part", path) == 0 else {
            throw DumpError.system(.notWritable, "can't finish", path)
        }
    }

    private func flush() throws(DumpError) {
        var rest = buffer[...]
        while !rest.isEmpty {
            let count = rest.withUnsafeBytes { Glibc.write(descriptor, $0.baseAddress, $0.count) }
            if count < 0, errno == EINTR { continue }
            guard count > 0 else { throw DumpError.system(.notWritable, "can't write", path) }
            rest = rest.dropFirst(count)
        }
        buffer.removeAll(keepingCapacity: true)
    }
}
