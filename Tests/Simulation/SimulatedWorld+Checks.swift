import DocumentModel
import SyncEngine

extension SimulatedWorld {
    /// Checks a world in which nothing is in flight any more.
    mutating func check() {
        violations += linkViolations + server.violations + devices.flatMap(\.violations)
        checkSchema()
        checkPublishing()
        checkConvergence()
        checkIncrements()
        checkOwnWrites()
        let hasFlickered = devices.contains { $0.flickers > 0 && !$0.hasRejectedIncrements }
        // A revocation, and a server or a device that goes back, take increments away that were shown.
        if scenario.mishaps.isDisjoint(with: Self.backwards), hasFlickered {
            violations.append("the counter that is shown went back")
        }
    }

    /// A copy of a device takes the other one's write for its own, until the server tells it; and so does a device whose writes were
    /// refused with a revocation, if one of them is committed later.
    private mutating func checkOwnWrites() {
        guard scenario.mishaps.isDisjoint(with: [.deviceCloned, .deviceRestored, .revocation]) else { return }
        for device in devices {
            // One that the server has rejected may be gone before the rejection arrives.
            let rejected = device.rejected.flatMap(Self.tokens)
            if device.hiddenTokens.isSubset(of: rejected) { continue }
            violations.append("\(device.id) didn't show its own write")
        }
    }

    private static let backwards: Set<Mishap> = [
        .serverRestored, .serverRestoredUnderSockets, .deviceRestored, .deviceCloned, .revocation,
    ]

    /// The schema holds, whoever wrote.
    private mutating func checkSchema() {
        if server.documents.values.contains(where: { $0.document["forbidden"] != nil }) {
            violations.append("a document breaks the schema")
        }
    }

    /// What is marked as published was published, and a revocation has its receipt.
    private mutating func checkPublishing() {
        let marked = server.rows.prefix { $0.change.revision <= server.published }
        if let lost = marked.first(where: { !published.contains($0.change.revision) }) {
            violations.append("\(lost.change.revision) is marked as published, and isn't")
        }
        // After a restore a relay may know of more than the rows have.
        if server.hasUnpublished, scenario.mishaps.isDisjoint(with: [.serverRestored, .serverRestoredUnderSockets]) {
            violations.append("what was committed isn't marked as published")
        }
        if permissions.hasOpenFences { violations.append("a revocation has no receipt") }
    }

    /// Every device is done, and shows what the server has.
    private mutating func checkConvergence() {
        let expected = server.documents.mapValues(\.document)
        for device in devices {
            if !device.partition.pending.isEmpty || device.partition.checkpoint != server.head {
                violations.append("\(device.id) is not done")
            }
            if device.partition.access != .write { violations.append("\(device.id) doesn't know what it may do") }
            if device.view != expected { violations.append("\(device.id) shows something else than the server has") }
            if device.holdings != server.holdings {
                violations.append("\(device.id) would be served again, since it holds something else than the server")
            }
        }
    }

    /// No increment counts twice, and none is gone without a trace.
    private mutating func checkIncrements() {
        let counter = server.documents[Self.counter]?.document
        let log = counter?["log"]?.arrayValue?.compactMap(\.stringValue) ?? []
        if Set(log).count != log.count { violations.append("an increment counts twice") }
        if counter?["total"]?.int64Value != Int64(log.count) { violations.append("total and log differ") }
        let rejected = devices.flatMap(\.rejected).flatMap(Self.tokens)
        if scenario.countsAll, log.count != increments - rejected.count {
            violations.append("increments were lost or doubled")
        }
        // Where both sides can lose what was acknowledged, nobody is left who knows it.
        let isLossy =
            !scenario.mishaps.isDisjoint(with: [.serverRestored, .serverRestoredUnderSockets])
            && !scenario.mishaps.isDisjoint(with: [.deviceRestored, .deviceCloned, .revocation])
        if isLossy { return }
        if !Set(log).union(goneTokens).union(rejected).isSuperset(of: tokens) {
            violations.append("increments were lost")
        }
        if server.documents[Self.tally]?.document["total"]?.int64Value != Int64(tallied.values.reduce(0, +)) {
            violations.append("what was acknowledged was not applied once")
        }
    }
}
