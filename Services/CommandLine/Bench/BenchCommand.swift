import DocumentModel
import EventLoop
import Foundation
import PartitaClient

/// `partita bench`: a load at a steady rate on any system, measured at the devices.
enum BenchCommand {
    static let command = Command(
        name: "bench",
        summary: "Measure a system: devices write at a steady rate; how long answers and arrivals take",
        parameters: ["PARTITION"],
        options: [
            Command.appOption,
            .init("collection", value: "NAME", "the synced collection into which the devices write; required"),
            .init("document", value: "JSON", "the documents' fields besides _id and the partition (default: none)"),
            .init("ids", value: "TYPE", "the type of the documents' _id: string or objectId (default: string)"),
            .init("writers", value: "NUMBER", "how many devices write (default: 1)"),
            .init("readers", value: "NUMBER", "how many devices only read (default: 1)"),
            .init(
                "partitions", value: "NUMBER",
                "over how many partitions they are spread, PARTITION-1, PARTITION-2, … (default: PARTITION alone)"),
            .init("rate", value: "NUMBER", "how many writes per second, of all together (default: 20)"),
            .init("seconds", value: "NUMBER", "how long they write (default: 10)"),
            .init("keep", "leave the documents (default: they are deleted at the end)"),
            .init("user", value: "EMAIL", "the account to sign in with; registered if it is new (default: anonymous)"),
            Output.option, LocalConfiguration.option,
        ] + DeviceCommand.accountOptions
    ) { arguments in
        let collection = try arguments.requiredValue("collection")
        let auth = try arguments.value("auth") ?? LocalConfiguration(arguments: arguments).authURL
        let deployed = try await DeviceCommand.deployed(arguments)
        let plan = try plan(arguments, collection: collection, partitionKey: deployed.partitionKey)
        let directory = FileManager.default.temporaryDirectory
            .appendingPathComponent("partita-bench-\(UUID().uuidString)").path
        try FileManager.default.createDirectory(atPath: directory, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(atPath: directory) }  // a temporary directory
        let app = try await PartitaApp(
            PartitaConfiguration(
                appId: deployed.id, baseURL: auth, directory: directory, loop: EventLoop(name: "account")))
        let session =
            if let user = arguments.value("user") {
                try await DeviceCommand.signIn(app, user, arguments.value("password") ?? DemoPerson.password)
            } else {
                try await app.logIn(.anonymous)
            }
        await session.goOffline()
        let access = try await app.syncAccess()
        let run = try await BenchRun(
            plan, access: access,
            transports: (0..<2).map { LoopSyncTransport(loop: EventLoop(name: "devices-\($0)")) })
        let signals = StopSignals()
        try await run.play(until: signals)
        try await app.close()
        if signals.isRaised { throw Interrupted() }
        let (rows, trouble) = run.times.report()
        let isJSON = arguments.has("json")
        for (document, text) in rows where !isJSON || !document.fields.isEmpty {
            Output.row(document, isJSON: isJSON, text)
        }
        if let trouble { throw ToolError(trouble) }
    }

    private static func plan(
        _ arguments: Arguments, collection: String, partitionKey: String
    ) throws -> BenchPlan {
        let given = try arguments.required("PARTITION")
        let partitions = try arguments.int("partitions", in: 1...10_000) ?? 1
        let names = partitions == 1 ? [given] : (1...partitions).map { "\(given)-\($0)" }
        let text = arguments.value("ids") ?? BenchPlan.IDs.string.rawValue
        guard let ids = BenchPlan.IDs(rawValue: text) else {
            throw UsageError("--ids takes string or objectId, not \(text)")
        }
        let fields: Document
        do { fields = try ExtendedJSON.parseDocument(arguments.value("document") ?? "{}") } catch {
            throw UsageError("--document takes a JSON object: \(error)")
        }
        if let taken = ["_id", partitionKey].first(where: { fields[$0] != nil }) {
            throw UsageError("--document must not have \(taken), which bench sets")
        }
        let rate = try rate(arguments), seconds = try arguments.int("seconds", in: 1...900) ?? 10
        let writes = max(1, Int((rate * Double(seconds)).rounded()))
        guard writes <= BenchPlan.maximumWrites else {
            throw UsageError("\(writes) writes are more than \(BenchPlan.maximumWrites), the limit")
        }
        let writers = try arguments.int("writers", in: 1...10_000) ?? 1
        guard writers >= partitions else {
            throw UsageError("--partitions takes at most the number of writers, \(writers)")
        }
        return BenchPlan(
            partitions: names.map { Partition(given: $0) }, collection: collection, fields: fields,
            partitionKey: partitionKey, ids: ids, writers: writers,
            readers: try arguments.int("readers", in: 0...10_000) ?? 1, perSecond: rate, writes: writes,
            keeps: arguments.has("keep"))
    }

    private static func rate(_ arguments: Arguments) throws -> Double {
        guard let text = arguments.value("rate") else { return 20 }
        guard let rate = Double(text), (0.1...100_000).contains(rate) else {
            throw UsageError("--rate takes a number from 0.1 to 100000, not \(text)")
        }
        return rate
    }
}
