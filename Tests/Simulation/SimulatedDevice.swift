import DocumentModel
import SyncEngine

/// A device in a few lines: the engine's bookkeeping and documents in dictionaries.
struct SimulatedDevice: Sendable {
    var id: String
    let user: String
    var partition = DevicePartition()
    private(set) var view: [DocumentKey: Document] = [:]
    private(set) var rejected: [Changeset] = []
    private(set) var server: [DocumentKey: ServerDocument] = [:]
    private(set) var retained: [Changeset] = []

    var holdings: Holdings {
        var holdings = Holdings()
        for document in server.values { holdings.add(revision: document.revision, incarnation: document.incarnation) }
        return holdings
    }

    private var staged: [DocumentKey: DocumentChange] = [:]
    private var clock = HybridClock()
    /// How often the counter that is shown went back without a rejection: an increment flickered, or showed twice.
    private(set) var flickers = 0
    private(set) var lostWrites = 0
    /// The tokens of own increments that weren't shown, although the server hadn't answered them.
    private(set) var hiddenTokens: Set<String> = []
    /// What the device did that it never may.
    private(set) var violations: [String] = []
    /// Whether the gateway revoked the partition.
    var isRevoked = false

    init(id: String, user: String) {
        self.id = id
        self.user = user
    }

    func retained(after version: Int64) -> [Changeset] {
        retained.filter { $0.version > version }.sorted { $0.version < $1.version }
    }

    mutating func write(_ operations: [Operation], milliseconds: Int64, id: String) {
        var stamped: [Operation] = []
        for operation in operations {
            let seen = operation.key.flatMap { server[$0] }
            let stamp = partition.stamped(operation, server: seen, after: stamped)
            if stamp.base != seen?.revision { violations.append("\(id) doesn't say what it has seen") }
            stamped.append(stamp)
        }
        let before = clock.latest
        let time = clock.tick(milliseconds: milliseconds)
        if time <= before { violations.append("\(id) made two changesets at one time") }
        perform(partition.write(stamped, clock: time, id: id))
    }

    /// The tokens of increments that the server may not have, or has refused.
    var openTokens: [String] {
        (rejected + partition.pending.filter(\.isUnresolved).map(\.changeset)).flatMap(SimulatedWorld.tokens)
    }

    var hasRejectedIncrements: Bool {
        rejected.contains { $0.operations.contains { $0.key == SimulatedWorld.counter } }
    }

    var shownTotal: Int64 { view[SimulatedWorld.counter]?["total"]?.int64Value ?? 0 }

    private var hiddenNow: Set<String> {
        let shown = view[SimulatedWorld.counter]?["log"]?.arrayValue?.compactMap(\.stringValue) ?? []
        let own = partition.pending.filter(\.isUnresolved).flatMap { SimulatedWorld.tokens(of: $0.changeset) }
        return Set(own).subtracting(shown)
    }

    /// Whether everything is shown that the server hasn't answered.
    var showsOwnWrites: Bool { !partition.isSynced || hiddenNow.isEmpty }

    mutating func perform(_ effects: [DevicePartition.Effect]) {
        let before = shownTotal
        var isRejecting = false
        for effect in effects {
            switch effect {
            case .clearStaged: staged = [:]
            case .stage(let changes):
                for change in changes { if let key = change.key { staged[key] = change } }
            case .publishStaged(let replacing):
                var keys = Set(staged.keys)
                if replacing {
                    keys.formUnion(server.keys)
                    server = [:]
                }
                take(Array(staged.values))
                staged = [:]
                rebase(keys)
            case .apply(let changes): take(changes)
            case .rebase(let keys): rebase(keys)
            case .report(_, let lost): lostWrites += lost.count
            case .reject(let changeset, _):
                isRejecting = true
                rejected.append(changeset)
            case .retain(let changeset): retained.append(changeset)
            case .forgetRetained(let version): retained.removeAll { $0.version > version }
            case .wipe:
                retained = []
                server = [:]
                staged = [:]
                view = [:]
            }
        }
        if shownTotal < before && !isRejecting { flickers += 1 }
        if partition.isSynced { hiddenTokens.formUnion(hiddenNow) }
    }

    private mutating func take(_ changes: [DocumentChange]) {
        for change in changes {
            guard let key = change.key else { continue }
            server[key] = change.document.map {
                ServerDocument(document: $0, incarnation: change.incarnation, revision: change.revision)
            }
        }
    }

    private mutating func rebase(_ keys: Set<DocumentKey>) {
        for key in keys {
            view[key] = LocalView.document(server: server[key], operations: partition.overlay(key))
        }
    }
}
