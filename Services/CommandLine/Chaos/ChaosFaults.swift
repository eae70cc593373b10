import EventLoop
import Foundation
import Glibc
import HTTPClient
import LocalEngines
import SyncEngine

/// Carries out the faults of a plan.
struct ChaosFaults: Sendable {
    let system: LocalSystem
    let proxy: FaultProxy
    let devices: [ChaosDevice]
    let ends: ChaosEnds
    let tool: Tool
    let stage: ChaosStage

    /// Does each fault at its time; returns when the time is over, and nothing stands still any more.
    /// - Parameter report: called for each fault, when it begins.
    func play(
        _ plan: ChaosPlan, length: Duration, report: @escaping @Sendable (ChaosFault, Duration, String) -> Void
    ) async throws {
        let start = ContinuousClock.now
        try await withThrowingTaskGroup(of: Void.self) { group in
            for fault in plan.faults {
                try await Task.sleep(until: start + fault.at, clock: .continuous)
                group.addTask { try await perform(fault) { report(fault, ContinuousClock.now - start, $0) } }
            }
            try await Task.sleep(until: start + length, clock: .continuous)
            try await group.waitForAll()
        }
    }

    private func perform(_ fault: ChaosFault, report: (String) -> Void) async throws {
        switch fault.kind {
        case .kill:
            let target = fault.target == "relay" ? await relay() : fault.target
            ends.killing(target)
            let isRunning = await system.signal(SIGKILL, to: target)
            if !isRunning { ends.wasDown(target) }
            report(
                fault.text + (fault.target == target ? "" : " (\(target))")
                    + (isRunning ? "" : ", which is being started"))
        case .stop:
            report(fault.text)
            await system.signal(SIGSTOP, to: fault.target)
            do {
                try await Task.sleep(for: fault.length)
            } catch {
                await system.signal(SIGCONT, to: fault.target)  // it couldn't end
                throw error
            }
            await system.signal(SIGCONT, to: fault.target)
        case .endBackends:
            let count = await endBackends(fault.seed)
            report("\(fault.text): \(count.map(String.init) ?? "it is down")")
        case .cut, .stall, .halfOpen:
            report("\(fault.text): about half of \(proxy.connectionCount) connections")
            proxy.add(fault)
        case .killDevice:
            report(fault.text)
            guard let device = devices.first(where: { $0.name == fault.target }) else { return }
            await device.kill()
            try await Task.sleep(for: fault.length)
            try await device.start()
        case .reinstall:
            report(fault.text)
            try await devices.first { $0.name == fault.target }?.reinstall(stage)
        case .snapshot, .failover:
            report(fault.text)
            try await loseCommits(fault)
        }
    }

    /// Puts a copy of Postgres in its place.
    private func loseCommits(_ fault: ChaosFault) async throws {
        let copy = try await PostgresCopy(
            of: stage.places.engines, url: await system.configuration.postgresURL,
            in: ChaosStage.folder(in: stage.places) + "/postgres-\(fault.at.wholeMilliseconds)",
            isStandby: fault.kind == .failover)
        if fault.kind == .failover {
            try await copy.promote {
                try await Task.sleep(for: fault.length / 2)  // what is committed meanwhile is kept
            } lagging: {
                try await Task.sleep(for: fault.length / 2)  // and meanwhile, lost
            }
        } else {
            try await Task.sleep(for: fault.length)  // what is committed meanwhile is lost
        }
        ends.losingCommits()
        try copy.replace()
        await system.signal(SIGKILL, to: fault.target)
    }

    /// The gateway that leads most shards of the outbox; the first one while none says that it leads.
    private func relay() async -> String {
        var best = (name: "sync-gateway", shards: 0)
        let http = HTTPClient(loop: stage.loop)
        for (name, _, url) in await system.instances(of: "sync-gateway") {
            // One that stands still or is being started leads nothing.
            let answer = try? await http.send(.init(method: "GET", url: url + "/metrics", timeout: .seconds(1)))
            let line = answer?.text.split(separator: "\n").first { $0.hasPrefix("outbox_led_shards") }
            let shards = line?.split(separator: " ").last.flatMap { Double($0) }.map { Int($0) } ?? 0
            if shards > best.shards { best = (name, shards) }
        }
        await http.shutDown()
        return best.name
    }

    /// Ends about half of the services' connections to Postgres.
    /// - Returns: how many; `nil` if Postgres is down.
    private func endBackends(_ seed: UInt64) async -> Int? {
        var generator = SeededGenerator(seed: seed)
        let rest = Int.random(in: 0...1, using: &generator)
        let rows = try? await tool.postgres.query(
            """
            select count(pg_terminate_backend(pid)) from pg_stat_activity
            where backend_type = 'client backend' and pid <> pg_backend_pid() and pid % 2 = $1 and application_name <> 'partita'
            """, [.int(Int64(rest))])
        return try? rows?.first?.decode(0, as: Int.self)
    }
}
