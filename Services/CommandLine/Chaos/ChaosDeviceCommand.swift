import DocumentModel
import EventLoop
import Foundation
import PartitaClient
import SyncEngine

/// `partita chaos-device`: one device of `partita chaos`, as a process that can be killed.
///
/// It goes on with the store and the journal that are in its folder. Once the run's `quiet` file exists it writes nothing any more, and
/// tells again and again in its `dump` file what it shows.
enum ChaosDeviceCommand {
    static let command = Command(
        name: "chaos-device", summary: "Act as a device of `partita chaos`",
        options: [
            .init("name", value: "NAME", "its name, the beginning of the ids of its writes"),
            .init("folder", value: "DIR", "where its store is, with a user who is signed in"),
            .init("base-url", value: "URL", "where it calls the services"),
            .init("sync-url", value: "URL", "where it syncs"),
            .init("teams", value: "NAMES", "the partitions that it opens, with commas in between"),
            .init("seed", value: "NUMBER", "decides what it writes"),
            .init("reads-only", "write nothing"),
            .init("quiet", value: "FILE", "the file whose existence ends the load"),
        ], isHidden: true
    ) { arguments in
        let name = try arguments.requiredValue("name")
        let folder = try arguments.requiredValue("folder")
        guard let seed = UInt64(try arguments.requiredValue("seed")) else { throw UsageError("--seed takes a number") }
        let configuration = ChaosDeviceFiles.configuration(
            folder: folder, baseURL: try arguments.requiredValue("base-url"),
            syncURL: try arguments.requiredValue("sync-url"), loop: EventLoop(name: name))
        let app = try await PartitaApp(configuration)
        guard let session = try await app.session() else { throw ToolError("nobody is signed in in \(folder)") }
        var handles: [PartitionHandle] = []
        for team in try arguments.requiredValue("teams").split(separator: ",") {
            handles.append(try await session.openPartition(.string(String(team))))
        }
        let files = ChaosDeviceFiles(folder: folder)
        let quiet = try arguments.requiredValue("quiet")
        if arguments.has("reads-only") {
            while !FileManager.default.fileExists(atPath: quiet) { try await Task.sleep(for: .milliseconds(200)) }
        } else {
            let writer = ChaosWriter(
                name: name, handles: handles, journal: try ChaosJournal(files.journal),
                count: try ChaosWrite.all(in: files.journal).count, seed: seed)
            try await writer.work(session) { FileManager.default.fileExists(atPath: quiet) }
        }
        while true {
            try await files.dump(handles)
            try await Task.sleep(for: .seconds(1))  // what arrives in between is told by the next dump
        }
    }
}

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
    fileprivate func dump(_ handles: [PartitionHandle]) async throws {
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
