import Auth
import DocumentModel
import EventLoop
import Foundation
import Postgres

/// The end of a run: waits until nothing is in flight any more, and checks what came out.
struct ChaosEnding {
    let devices: [ChaosDevice]
    let visitors: [ChaosVisitor]
    let visiting: [Task<Void, any Error>]
    let tool: Tool
    let stage: ChaosStage
    /// How long each step may take.
    let limit: Duration

    func check() async throws -> (violations: [ChaosChecks.Violation], counts: [ChaosReport.Count]) {
        var violations = try await wait("visitors are done") {
            visitors.compactMap(\.waiting).map { "waits for: \($0)" }
        }
        for visit in visiting where violations.isEmpty {
            do { try await visit.value } catch {
                violations += ChaosChecks.named("quiet", ["a visitor failed: \(error)"])
            }
        }
        try Data().write(to: URL(fileURLWithPath: stage.quietFile))
        violations += try await wait("devices have written everything") {
            try devices.flatMap { device in
                let dumps = try device.dumps()
                if dumps.count < device.teams.count { return ["\(device.name) hasn't told anything"] }
                return dumps.filter { $0.pending > 0 }.map {
                    "\(device.name) has \($0.pending) writes left in \($0.team)"
                }
            }
        }
        violations += try await wait("triggers have run") {
            let checks = ChaosChecks(writes: [], rows: try await rows())
            return checks.unlogged.map { "no trigger for \($0)" }
        }
        var different: [ChaosChecks.Violation] = []
        _ = try await wait("devices show what Postgres has") {
            different = ChaosChecks.differences(
                try await rows(), try devices.map { ($0.name, $0.teams, try $0.dumps()) })
            return different.map(\.text)
        }
        violations += different
        let writes = try devices.flatMap { try ChaosWrite.all(in: $0.files.journal) }
        let checks = ChaosChecks(writes: writes, rows: try await rows())
        violations += checks.acknowledged(inserts: try await inserts())
        violations += checks.increments() + checks.lastWrites() + checks.fences(visitors)
        violations += checks.triggers(deadLetters: try await deadLetters())
        violations += ChaosChecks.named("store", try await findings())
        let counts: [ChaosReport.Count] = [
            ("writes of devices", writes.count),
            ("of them unknown to the device", writes.count { if case .unknown = $0.state { true } else { false } }),
            ("documents", checks.rows.count), ("removals", visitors.map(\.rounds).reduce(0, +)),
        ]
        return (violations, counts)
    }

    /// Waits until there is nothing left.
    /// - Returns: what is left after the limit.
    private func wait(_ what: String, _ left: () async throws -> [String]) async throws -> [ChaosChecks.Violation] {
        let end = ContinuousClock.now + limit
        return try await Progress.step("waiting until \(what)") {
            while true {
                let rest = try await ChaosPatience.again(left)
                if rest.isEmpty { return [] }
                if ContinuousClock.now > end {
                    return ChaosChecks.named("quiet", ["not in time: \(what)"] + rest.prefix(5))
                }
                try await Task.sleep(for: .seconds(1))  // what is waited for is in several processes
            }
        }
    }

    private func rows() async throws -> [ChaosRow] { try await ChaosRow.all(tool) }

    /// How often each entry was inserted, as its history says.
    private func inserts() async throws -> [String: Int] {
        let rows = try await tool.postgres.query(
            """
            select substr(_id, 3), count(*)::int from partita.changes
            where app = $1 and collection = 'Entry' and operation = 'insert' group by _id
            """, [.text(ChaosApp.id)])
        return try Dictionary(uniqueKeysWithValues: rows.decode((String, Int).self).map { ($0, $1) })
    }

    private func deadLetters() async throws -> [String] {
        let rows = try await tool.postgres.query(
            "select event_id || ': ' || code || ': ' || message from partita.trigger_failures where app = $1",
            [.text(ChaosApp.id)])
        return try rows.decode(String.self).map { "given up: \($0)" }
    }

    private func findings() async throws -> [String] {
        let answer = try await tool.administration.perform(AdminCall(.check, ["app": ChaosApp.id]))
        return (answer.document?["findings"]?.arrayValue ?? []).map { finding in
            func text(_ name: String) -> String { finding[name]?.stringValue ?? "" }
            return
                "\(text("code")) (\(finding["count"]?.int64Value ?? 0)): \(text("meaning")); for example \(text("example"))"
        }
    }
}
