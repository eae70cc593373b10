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

/// A write of a device, and what became of it.
struct ChaosWrite: Sendable {
    enum State: Sendable {
        /// The process died before it knew whether it had written.
        case unknown
        /// It is on the device with this version, and the server has to answer it.
        case written(Int64)
        /// The device refused it.
        case refused(String)
    }

    /// Unique in the run: the device's name and a number.
    let id: String
    let team: String
    /// `entry`, `set` or `note`.
    let kind: String
    let intention: Document
    var state = State.unknown

    var isWritten: Bool { if case .written = state { true } else { false } }

    /// Reads a journal. An incomplete last line was never more than an intention that wasn't carried out.
    static func all(in path: String) throws -> [ChaosWrite] {
        guard FileManager.default.fileExists(atPath: path) else { return [] }
        var writes: [ChaosWrite] = []
        var places: [String: Int] = [:]
        let text = try String(contentsOfFile: path, encoding: .utf8)
        for line in text.split(separator: "\n", omittingEmptySubsequences: false).dropLast() {
            let document = try ExtendedJSON.parseDocument(String(line))
            guard let id = document["id"]?.stringValue else { throw ToolError("\(path) has a line without an id") }
            if let place = places[id] {
                if let version = document["version"]?.int64Value { writes[place].state = .written(version) }
                if let reason = document["refused"]?.stringValue { writes[place].state = .refused(reason) }
            } else {
                places[id] = writes.count
                writes.append(
                    ChaosWrite(
                        id: id, team: document["team"]?.stringValue ?? "", kind: document["kind"]?.stringValue ?? "",
                        intention: document))
            }
        }
        return writes
    }
}
