import DocumentModel
import EventLoop
import Foundation
import PartitaClient

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
