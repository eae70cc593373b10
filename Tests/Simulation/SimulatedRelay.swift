import DocumentModel
import SyncEngine

/// A process that publishes what was committed.
struct SimulatedRelay: Sendable {
    /// What it has taken to publish.
    struct Round: Sendable {
        var partitions: [PartitionKey]
        var rows: [SimulatedServer.Row]
        var positions: [PartitionKey: Revision] = [:]
        var isSent = false
        var isUnfinished = false
    }

    /// Unique to this process and this start.
    let holder: Int
    var state = RelayState(shards: 1)
    var round: Round?
    /// Marks that were taken and aren't written yet.
    var marks: [RelayState.Mark] = []
    /// Whether it stands still.
    var isStopped = false

    init(holder: Int) { self.holder = holder }
}

/// The lease in Postgres by which one relay at a time publishes.
struct SimulatedRelayLease: Sendable {
    private(set) var holder = -1
    private(set) var fence: Int64 = 0
    private var expiresAt: Int64 = 0

    /// - Returns: the fence; `nil` while another one has the lease.
    mutating func acquire(by candidate: Int, for duration: Int64, now: Int64) -> Int64? {
        guard holder == candidate || expiresAt <= now else { return nil }
        if holder != candidate || expiresAt <= now { fence += 1 }
        (holder, expiresAt) = (candidate, now + duration)
        return fence
    }
}
