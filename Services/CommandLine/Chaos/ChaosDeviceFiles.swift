import DocumentModel
import EventLoop
import Foundation
import PartitaClient
import SyncEngine

/// The files in the folder of a device of `partita chaos`.
struct ChaosDeviceFiles: Sendable {
    let folder: String

    var journal: String { folder + "/journal" }
    var dump: String { folder + "/dump" }
    var log: String { folder + "/log" }

    /// Connections are given up sooner than by apps, so that dead ones are noticed during a run.
    static func configuration(
        folder: String, baseURL: String, syncURL: String, loop: EventLoop, transport: (any SyncTransport)? = nil
    ) -> PartitaConfiguration {
        var configuration = PartitaConfiguration(
            appId: ChaosApp.id, baseURL: baseURL, syncURL: syncURL, directory: folder, loop: loop)
        if let transport { configuration.sync = transport }
        configuration.reconnect = (.milliseconds(100), .seconds(2))
        configuration.timing = DeviceConnection.Timing(
            connect: .seconds(8), ping: .seconds(3), silence: .seconds(10), renewal: .seconds(15))
        return configuration
    }

    /// Replaces the dump by one of what the device shows now: a line about each partition, then one for each document.
    func dump(_ handles: [PartitionHandle]) async throws {
        var lines: [String] = []
        for handle in handles {
            let rejected = try await handle.rejected()
            let state: Document = [
                "team": .string(handle.partition.value?.stringValue ?? ""),
                "pending": .int64(Int64(try await handle.pending().count)),
                "rejected": .array(rejected.map { .string("\($0.changeset.version): \($0.reason)") }),
            ]
            lines.append(ExtendedJSON.print(state))
            for collection in ChaosApp.synced {
                for document in try await handle.find(collection) {
                    let line: Document = ["collection": .string(collection), "document": .document(document)]
                    lines.append(ExtendedJSON.print(line))
                }
            }
        }
        let file = dump + ".new"
        try (lines.joined(separator: "\n") + "\n").write(toFile: file, atomically: false, encoding: .utf8)
        guard rename(file, dump) == 0 else {
            throw ToolError("can't write \(dump): \(String(cString: strerror(errno)))")
        }
    }
}
