import ChildProcesses
import DocumentModel
import EventLoop
import Foundation
import LocalEngines

/// `partita chaos`: a system on this machine that is broken in many ways while devices work, and checked afterwards.
enum ChaosCommand {
    static let command = Command(
        name: "chaos",
        summary: "Run a system of its own, kill and cut its parts while devices write, and check that nothing was lost",
        options: [
            .init("minutes", value: "NUMBER", "how long faults happen, such as 0.5 (default: 5)"),
            .init(
                "seed", value: "NUMBER", "decides the faults and the writes (default: a random one, which is printed)"),
            .init("devices", value: "NUMBER", "how many devices write (default: 6)"),
            .init(
                "lose-commits",
                "let Postgres go back to what it was seconds before, too, by snapshots and failovers; no user is removed"
            ),
            .init(
                "rest", value: "SECONDS",
                "how long everything may take to come to rest afterwards (default: 240)"),
            .init(
                "data", value: "DIR",
                "an empty directory, which is kept (default: a temporary one, which is kept if a check fails)"),
            .init("port", value: "PORT", "the first of fifteen ports (default: free ones)"),
            .init(
                "proxy", value: "FILE",
                "the nginx configuration of the common address (default: Deploy/proxy.conf.template)"),
            Output.option,
        ]
    ) { arguments in
        let seed = try ChaosCommand.seed(arguments), directory = arguments.value("data")
        let places = Places(
            data: directory
                ?? FileManager.default.temporaryDirectory.appendingPathComponent("partita-chaos-\(seed)").path)
        try requireOwn(places)
        let run = ChaosRun(
            seed: seed, length: try length(arguments), devices: try arguments.int("devices", in: 1...100) ?? 6,
            rest: .seconds(try arguments.int("rest", in: 1...3600) ?? 240), places: places,
            basePort: try arguments.int("port", in: 1024...65000) ?? LocalPort.free(15),
            proxyTemplate: arguments.value("proxy") ?? "Deploy/proxy.conf.template",
            losesCommits: arguments.has("lose-commits"), isJSON: arguments.has("json"))
        let signals = StopSignals()
        let report = try await SystemLock.hold(places) {
            chmod(places.data, 0o755)  // engines may run as another user
            return try await interruptible(signals) { try await run.play() }
        }
        guard report.violations.isEmpty else {
            let names = Set(report.violations.map(\.check)).sorted().joined(separator: ", ")
            throw ToolError("seed \(seed) violates: \(names). Logs and data: \(places.data)")
        }
        if directory == nil { try FileManager.default.removeItem(atPath: places.data) }
    }

    private static func seed(_ arguments: Arguments) throws -> UInt64 {
        guard let text = arguments.value("seed") else { return UInt64.random(in: 0..<1_000_000) }
        guard let seed = UInt64(text) else { throw UsageError("--seed takes a number, not \(text)") }
        return seed
    }

    private static func length(_ arguments: Arguments) throws -> Duration {
        guard let text = arguments.value("minutes") else { return .seconds(300) }
        guard let minutes = Double(text), (0.05...1440).contains(minutes) else {
            throw UsageError("--minutes takes a number from 0.05 to 1440, not \(text)")
        }
        return .milliseconds(Int64(minutes * 60_000))
    }

    /// Engines are killed, and data are written: nothing that somebody else uses.
    private static func requireOwn(_ places: Places) throws {
        for name in ["PARTITA_POSTGRES_URL", "PARTITA_REDIS_URL", "PARTITA_KAFKA_BOOTSTRAP"]
        where CurrentEnvironment.variables[name] != nil {
            throw UsageError("chaos kills engines, so it starts its own: unset \(name)")
        }
        let used = [places.configFile, places.engines, ChaosStage.folder(in: places)]
        for path in used where FileManager.default.fileExists(atPath: path) {
            throw UsageError("\(places.data) has a system already: chaos needs an empty directory")
        }
    }

    /// Ctrl-C cancels the work, which stops what it has started.
    private static func interruptible<R: Sendable>(
        _ signals: StopSignals, _ body: @escaping @Sendable () async throws -> R
    ) async throws -> R {
        let work = Task { try await body() }
        let watching = Task {
            await signals.wait()
            work.cancel()
        }
        defer { watching.cancel() }
        do {
            return try await work.value
        } catch  where signals.isRaised {
            throw Interrupted()  // the failure was caused by the stop
        }
    }
}
