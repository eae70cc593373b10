import DocumentModel
import Foundation
import Glibc

/// What a device intended and did, written by its process before and after each write, so that a killed process leaves it behind.
///
/// The intention is written first. If the process dies in between, the write may be on the device or not, so it counts at most once.
final class ChaosJournal: Sendable {
    private let descriptor: Int32

    /// Opens the journal for appending. An incomplete last line, which the process died of, is removed.
    init(_ path: String) throws {
        if let data = FileManager.default.contents(atPath: path), let last = data.last, last != UInt8(ascii: "\n") {
            let whole = data.lastIndex(of: UInt8(ascii: "\n")).map { $0 + 1 } ?? 0
            guard truncate(path, off_t(whole)) == 0 else {
                throw ToolError("can't cut \(path): \(String(cString: strerror(errno)))")
            }
        }
        descriptor = open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0o644)
        guard descriptor >= 0 else { throw ToolError("can't write \(path): \(String(cString: strerror(errno)))") }
    }

    deinit { close(descriptor) }

    /// Appends a line. It survives the death of the process.
    func append(_ document: Document) throws {
        let line = Array((ExtendedJSON.print(document) + "\n").utf8)
        guard line.withUnsafeBytes({ Glibc.write(descriptor, $0.baseAddress, $0.count) }) == line.count else {
            throw ToolError("can't write the journal: \(String(cString: strerror(errno)))")
        }
    }
}
