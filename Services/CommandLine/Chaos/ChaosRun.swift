import DocumentModel
import DocumentStore
import EventLoop
import Foundation
import HTTPClient
import PartitaClient

/// One run of `partita chaos`: start, load with faults, healing, checks.
final class ChaosRun: Sendable {
    let seed: UInt64
    let length: Duration
    /// How long everything may take to come to rest after the faults.
    private let rest: Duration
    private let deviceCount: Int
    private let places: Places
    private let basePort: Int
    private let system: LocalSystem
    private let ends = ChaosEnds()
    private let memory: ChaosMemory
    private let losesCommits: Bool
    private let isJSON: Bool
    private let loop = EventLoop(name: "chaos")

    /// The services that run twice.
    static let copied = ["sync-gateway", "trigger-workers"]
    /// What makes them members and removes them isn't written by devices, so nobody writes again what Postgres loses of it.
    private var visitorCount: Int { losesCommits ? 0 : 2 }

    init(
        seed: UInt64, length: Duration, devices: Int, rest: Duration, places: Places, basePort: Int,
        proxyTemplate: String, losesCommits: Bool, isJSON: Bool
    ) {
        self.seed = seed
        self.length = length
        deviceCount = devices
        self.rest = rest
        self.places = places
        self.basePort = basePort
        self.losesCommits = losesCommits
        self.isJSON = isJSON
        let ends = ends
        system = LocalSystem(
            places: places, basePort: basePort, host: nil, app: ChaosApp.files, named: "the app of chaos",
            proxyTemplate: proxyTemplate, copies: Self.copied,
            // Short, so that tokens are renewed during a run.
            settings: ["PARTITA_AUTH_ACCESS_TOKEN_LIFETIME": "60s"],
            ended: { ends.ended($0, $1, reason: $2) })
        memory = ChaosMemory(of: LocalSystem.serviceNames + Self.copied.map(LocalSystem.copyName), in: places)
    }

    /// - Returns: what was found; the system is stopped then.
    func play() async throws -> ChaosReport {
        do {
            try await system.start(isReset: false)
            let report = try await Tool.run(await system.configuration) { try await self.play($0) }
            await stop()
            report.show(isJSON: isJSON)
            return report
        } catch {
            await stop()
            throw error
        }
    }

    private func stop() async {
        ends.stopping()
        await system.stop(after: nil)
    }

    private func play(_ tool: Tool) async throws -> ChaosReport {
        let gateways = await system.instances(of: "sync-gateway").map(\.port)
        let proxy = try FaultProxy(port: basePort + 14, targets: gateways, seed: seed)
        defer { proxy.close() }
        let stage = ChaosStage(
            seed: seed, places: places, baseURL: await system.configuration.authURL,
            syncURL: "ws://127.0.0.1:\(proxy.port)", loop: loop)
        let store = try await tool.store(of: ChaosApp.id).store
        let (devices, visitors) = try await Progress.step(
            "registering \(deviceCount) devices and \(visitorCount) visitors"
        ) {
            try await enter(stage, store: store, tool: tool)
        }
        let engines = await system.engineNames
        let plan = ChaosPlan(
            seed: seed, length: length, devices: devices.filter(\.writes).map(\.name),
            readers: devices.filter { !$0.writes }.map(\.name), engines: engines, losesCommits: losesCommits)
        say(
            ["seed": .int64(Int64(clamping: seed)), "faults": .int64(Int64(plan.faults.count))],
            "seed \(seed): \(plan.faults.count) faults in \(Progress.text(length))")
        for device in devices { try await device.start() }
        let watching = Task { await memory.watch() }
        defer { watching.cancel() }
        let isOver = Locked(false)
        let visiting = visitors.enumerated().map { index, visitor in
            Task { try await visitor.run(seed: seed &+ UInt64(index)) { isOver.withLock { $0 } } }
        }
        defer { for visit in visiting { visit.cancel() } }
        let faults = ChaosFaults(system: system, proxy: proxy, devices: devices, ends: ends, tool: tool, stage: stage)
        try await faults.play(plan, length: length) { fault, time, text in
            let row: Document = ["at": .double(time / .seconds(1)), "fault": .string(text)]
            self.say(row, "\(Self.clock(time))  \(text)")
        }
        say(["healing": true], "\(Self.clock(length))  healing")
        isOver.withLock { $0 = true }
        let ending = ChaosEnding(
            devices: devices, visitors: visitors, visiting: visiting, tool: tool, stage: stage,
            limit: rest)
        proxy.heal()
        var violations: [ChaosChecks.Violation] = []
        do {
            try await system.waitUntilReady()
        } catch {
            violations.append(.init(check: "quiet", text: "\(error)"))
        }
        let found = try await ending.check()
        violations += found.violations
        let names = LocalSystem.serviceNames + Self.copied.map(LocalSystem.copyName)
        var unexpected = ends.unexpected
        for device in devices { unexpected += await device.ends }
        violations += ChaosChecks.named("processes", unexpected)
        violations += ChaosChecks.named("logs", try ChaosLogs.errors(in: places, of: names))
        violations += ChaosChecks.named(
            "memory", memory.most.filter { $0.bytes > ChaosMemory.limit }.map { "\($0.name) had \($0.bytes >> 20) MiB" }
        )
        for device in devices { await device.kill() }
        for visitor in visitors { try await visitor.close() }
        return ChaosReport(
            seed: seed, violations: violations, counts: found.counts + [("faults", plan.faults.count)],
            memory: memory.most, leftOut: losesCommits ? ["fence"] : [])
    }

    // MARK: Devices

    /// Registers everybody, and writes what has to be there before the first device does.
    private func enter(
        _ stage: ChaosStage, store: DocumentStore, tool: Tool
    ) async throws -> ([ChaosDevice], [ChaosVisitor]) {
        let teams = ["team-1", "team-2"]
        func collection(_ name: String) -> DocumentCollection {
            store.collection(name, database: ChaosApp.database, app: ChaosApp.id)
        }
        for team in teams {
            _ = try await collection("Counter").insertOne(["_id": ChaosApp.counter(team), "partition": .string(team)])
            for board in ChaosApp.boards {
                _ = try await collection("Board").insertOne([
                    "_id": ChaosApp.board(board, team), "partition": .string(team),
                ])
            }
        }
        var devices: [ChaosDevice] = []
        for number in 0...deviceCount {
            // The last one only reads. Every third one has both teams.
            let isReader = number == deviceCount
            let own = isReader || number % 3 == 2 ? teams : [teams[number % teams.count]]
            let device = ChaosDevice(
                name: isReader ? "reader" : "d\(number + 1)", teams: own, writes: !isReader, stage: stage)
            let (app, session) = try await stage.enter(device.name)
            for team in own {
                _ = try await collection("Member").insertOne([
                    "_id": .string("\(device.name)-\(team)"), "user": .string(session.userId), "team": .string(team),
                ])
            }
            devices.append(device)
            try await app.close()
        }
        var visitors: [ChaosVisitor] = []
        for number in 0..<visitorCount {
            visitors.append(
                try await ChaosVisitor.enter(
                    "v\(number + 1)", team: teams[number % teams.count], stage: stage, store: store, tool: tool))
        }
        return (devices, visitors)
    }

    // MARK: Output

    private func say(_ row: Document, _ text: String) { Output.row(row, isJSON: isJSON, text) }

    private static func clock(_ time: Duration) -> String {
        let tenths = time.wholeMilliseconds / 100
        let text = "\(tenths / 600):\(tenths / 10 % 60 < 10 ? "0" : "")\(tenths / 10 % 60).\(tenths % 10)"
        return String(repeating: " ", count: max(0, 7 - text.count)) + text
    }
}
