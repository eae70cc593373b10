import DocumentModel

/// What must hold when nothing is in flight any more.
struct ChaosChecks: Sendable {
    /// Something that must not be, with the name of what it violates.
    struct Violation: Sendable {
        let check: String
        let text: String
    }

    /// Every check, with what it says.
    static let names = [
        ("quiet", "when the faults are over, everything comes to an end in time"),
        ("acknowledged", "each write that a device made is in Postgres once, and nothing else is"),
        ("increments", "counters are the sums of what was written with them"),
        ("last-write", "a path has a value that somebody wrote, and that no acknowledged write had seen and replaced"),
        ("convergence", "every device shows the bytes that Postgres has"),
        ("fence", "after the receipt of a removal, the user neither writes nor is sent anything"),
        ("triggers", "the trigger ran once for each entry, and none was given up"),
        ("store", "partita check finds nothing"),
        ("processes", "no service and no device ended by itself"),
        ("logs", "no service logged an error of its own"),
        ("memory", "no service had more than \(ChaosMemory.limit >> 20) MiB"),
    ]

    /// The writes of all devices.
    let writes: [ChaosWrite]
    let rows: [ChaosRow]

    // MARK: Writes

    /// Also counts each device's writes that it doesn't know of itself whether they are on it.
    func acknowledged(inserts: [String: Int]) -> [Violation] {
        let entries = Dictionary(uniqueKeysWithValues: rows.filter { $0.collection == "Entry" }.map { ($0.id, $0) })
        var violations: [String] = []
        var known: Set<String> = []
        for write in writes where write.kind == "entry" {
            known.insert(write.id)
            guard let row = entries[write.id] else {
                if write.isWritten { violations.append("\(write.id) in \(write.team) is missing") }
                continue
            }
            if case .refused = write.state { violations.append("\(write.id) is there, and the device refused it") }
            let bytes = row.document["text"]?.stringValue.map { Int64($0.utf8.count) }
            if row.team != write.team || row.document["amount"] != write.intention["amount"]
                || bytes != write.intention["bytes"]?.int64Value
            {
                violations.append(
                    "\(write.id) in \(write.team) is not what was written: \(row.team), \(row.document.fields.count) fields"
                )
            }
        }
        for id in entries.keys where !known.contains(id) { violations.append("nobody wrote \(id)") }
        for (id, count) in inserts where count != 1 { violations.append("\(id) was inserted \(count) times") }
        return Self.named("acknowledged", violations)
    }

    func increments() -> [Violation] {
        var violations: [String] = []
        for counter in rows where counter.collection == "Counter" {
            var sums: [String: Int64] = [:]
            for row in rows where row.collection == "Entry" && row.team == counter.team {
                sums[Self.device(row.id), default: 0] += row.document["amount"]?.int64Value ?? 0
            }
            let total = counter.document["total"]?.int64Value ?? 0
            if total != sums.values.reduce(0, +) {
                violations.append("\(counter.id) has \(total), and its entries amount to \(sums.values.reduce(0, +))")
            }
            let by = counter.document["by"]?.documentValue
            for device in Set(sums.keys).union(by?.fields.map(\.key) ?? []).sorted() {
                let count = by?[device]?.int64Value ?? 0
                if count != sums[device] ?? 0 {
                    violations.append(
                        "\(counter.id) has \(count) of \(device), whose entries amount to \(sums[device] ?? 0)")
                }
            }
        }
        return Self.named("increments", violations)
    }

    private static func device(_ write: String) -> String { String(write.prefix { $0 != "." }) }

    /// A write whose author had seen the present value never loses to it. So the last value isn't one that an acknowledged write replaced.
    func lastWrites() -> [Violation] {
        var violations: [String] = []
        let sets = writes.filter { $0.kind == "set" }
        let byId = Dictionary(uniqueKeysWithValues: sets.map { ($0.id, $0) })
        for board in rows where board.collection == "Board" {
            let here = sets.filter { $0.intention["board"]?.stringValue == board.id }
            for path in ChaosApp.paths {
                let written = here.filter { $0.intention["path"]?.stringValue == path }
                guard let value = board.document.value(at: path)?.stringValue else {
                    if let lost = written.first(where: \.isWritten) {
                        violations.append("\(board.id) has no \(path), and \(lost.id) was acknowledged")
                    }
                    continue
                }
                guard let last = byId[value], last.intention["path"]?.stringValue == path else {
                    violations.append("\(board.id) has \(value) at \(path), which nobody wrote there")
                    continue
                }
                for later in written where later.isWritten && later.intention["seen"]?.stringValue == value {
                    violations.append("\(board.id) has \(value) at \(path), and \(later.id) has seen and replaced it")
                }
            }
        }
        return Self.named("last-write", violations)
    }

    // MARK: Other checks

    /// The first differences between what devices show and what Postgres has.
    static func differences(_ rows: [ChaosRow], _ dumps: [(device: String, teams: [String], shown: [ChaosDump])])
        -> [Violation]
    {
        var violations: [String] = []
        let byTeam = Dictionary(grouping: rows, by: \.team)
        for (device, teams, shown) in dumps {
            for team in teams {
                guard let dump = shown.first(where: { $0.team == team }) else {
                    violations.append("\(device) hasn't told what it shows of \(team)")
                    continue
                }
                if dump.pending > 0 {
                    violations.append("\(device) has \(dump.pending) writes in \(team) that aren't done")
                }
                for reason in dump.rejected {
                    violations.append("\(device) had a write rejected in \(team): \(reason)")
                }
                var expected: [String: String] = [:]
                for row in byTeam[team] ?? [] {
                    expected[ChaosRow.name(row.collection, row.document)] = ExtendedJSON.print(row.document)
                }
                let different = Set(expected.keys).union(dump.documents.keys).filter {
                    expected[$0] != dump.documents[$0]
                }
                guard let first = different.min() else { continue }
                let (there, here) = (expected[first] ?? "nothing", dump.documents[first] ?? "nothing")
                violations.append(
                    "\(device) shows \(different.count) documents of \(team) that differ; of \(first) Postgres has \(there.prefix(300)), the device \(here.prefix(300))"
                )
            }
        }
        return named("convergence", violations)
    }

    /// No write of a visitor lies between a marker and the next opening, and no marker was sent too far.
    func fences(_ visitors: [ChaosVisitor]) -> [Violation] {
        var violations: [String] = []
        for visitor in visitors {
            violations += visitor.leaks.map { "\(visitor.name) was sent \($0), written after the receipt" }
            let visits = rows.filter { $0.collection == "Visit" && $0.team == visitor.team }
            let revisions = Dictionary(uniqueKeysWithValues: visits.map { ($0.id, $0.revision) })
            let own = visits.filter { $0.document["visitor"]?.stringValue == visitor.name }
            for round in 0..<visitor.rounds {
                guard let start = revisions[visitor.marker(round)] else {
                    violations.append("\(visitor.marker(round)) is missing")
                    continue
                }
                let end = revisions[visitor.opening(round + 1)] ?? .max
                for visit in own where start < visit.revision && visit.revision < end {
                    violations.append("\(visit.id) was written after the receipt of round \(round)")
                }
            }
        }
        return Self.named("fence", violations)
    }

    /// The entries for which the trigger hasn't run.
    var unlogged: [String] {
        let logged = Set(rows.filter { $0.collection == "Log" }.compactMap { $0.document["entry"]?.stringValue })
        return rows.filter { $0.collection == "Entry" && !logged.contains($0.id) }.map(\.id)
    }

    func triggers(deadLetters: [String]) -> [Violation] {
        var violations = unlogged.map { "the trigger didn't run for \($0)" } + deadLetters
        var counts: [String: Int] = [:]
        var logs: [String: Int64] = [:]
        for row in rows where row.collection == "Log" {
            counts[row.document["entry"]?.stringValue ?? "", default: 0] += 1
            logs[row.team, default: 0] += 1
        }
        for (entry, count) in counts where count > 1 {
            violations.append("the trigger wrote \(count) times for \(entry)")
        }
        for tally in rows where tally.collection == "Tally" {
            let count = tally.document["entries"]?.int64Value ?? 0
            if count != logs[tally.team] ?? 0 {
                violations.append("\(tally.id) has \(count), and there are \(logs[tally.team] ?? 0) logs")
            }
        }
        return Self.named("triggers", violations)
    }

    static func named(_ check: String, _ texts: [String]) -> [Violation] {
        texts.sorted().map { Violation(check: check, text: $0) }
    }
}
