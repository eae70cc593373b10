import DocumentModel
import Foundation

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
