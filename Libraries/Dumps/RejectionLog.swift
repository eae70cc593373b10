import DocumentModel
import Glibc

/// A document that wasn't imported, with the reason.
struct Rejection: Sendable {
    /// Its offset in the file; for invalid BSON, that of the invalid byte.
    var offset: Int64
    var code: String
    var message: String
    var id: Value?

    /// The line for the file of rejections.
    var line: [UInt8] {
        var document: Document = ["offset": .int64(offset), "code": .string(code), "message": .string(message)]
        document["_id"] = id
        var line: [UInt8] = []
        ExtendedJSON.append(document, mode: .relaxed, to: &line)
        line.append(UInt8(ascii: "\n"))
        return line
    }
}

/// The file to which the rejections of one import are appended. It is created with the first one.
final class RejectionLog: Sendable {
    let path: String

    init(path: String) { self.path = path }

    /// Writes lines after the first `size` bytes, which are kept; the bytes after them are discarded.
    /// - Returns: the file's new size.
    func write(_ rejections: [Rejection], after size: Int64) throws(DumpError) -> Int64 {
        if rejections.isEmpty { return size }
        let descriptor = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0o644)
        guard descriptor >= 0 else { throw DumpError.system(.notWritable, "can't open", path) }
        defer { close(descriptor) }
        guard ftruncate(descriptor, Int(size)) == 0 else { throw DumpError.system(.notWritable, "can't cut", path) }
        var end = size
        for rejection in rejections {
            var rest = rejection.line[...]
            while !rest.isEmpty {
                let count = rest.withUnsafeBytes { pwrite(descriptor, $0.baseAddress, $0.count, Int(end)) }
                if count < 0, errno == EINTR { continue }
                guard count > 0 else { throw DumpError.system(.notWritable, "can't write", path) }
                rest = rest.dropFirst(count)
                end += Int64(count)
            }
        }
        // The row that counts the rejections must not be committed before they are durable.
        guard fsync(descriptor) == 0 else { throw DumpError.system(.notWritable, "can't sync", path) }
        return end
    }
}
