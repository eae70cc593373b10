import DocumentModel
import DocumentStore
import EventLoop
import Grants
import Logging
import Postgres
import SyncEngine

/// What subscriptions need: the documents, and the right to send them.
final class DownloadPath: Sendable {
    let store: DocumentStore
    let grants: GrantBook
    let lease: GrantLease
    let epoch: EpochWatch
    /// The bytes that may wait in a device's socket before it has to catch up.
    let window: Int
    let clock: WallClock
    let logger: Logger
    /// The partitions that are being opened, by app and user: a user who opens and closes them all the time doesn't delay others.
    let openings = FairGate<ExactText>(places: 64, waiting: 100_000, waitingPerMember: 5_000)
    /// The reads of documents, by app and user. Those who read much leave connections to Postgres for the other users' reads and for uploads.
    let reads: FairGate<ExactText>
    /// What is read of partitions when they are opened, for many devices in one round trip.
    let histories: GatheredReads<PartitionKey, (history: EpochHistory, head: Revision)>
    let standings: GatheredReads<CatchUp.Device, CatchUp.Standing>
    /// Compares what devices hold with what the store has.
    let holdings: HoldingsCheck
    /// The reasons why partitions weren't served, so that the log has each once.
    let failures = Locked(FailureChanges())

    /// - Parameter connections: The number of the service's connections to Postgres.
    init(
        store: DocumentStore, connections: Int, grants: GrantBook, lease: GrantLease, epoch: EpochWatch, window: Int,
        clock: WallClock,
        logger: Logger
    ) {
        self.store = store
        // The number of waiting reads is limited by that of the devices, each of which has few in flight.
        reads = FairGate(places: max(1, connections - max(1, connections / 4)), waiting: 0)
        histories = GatheredReads { try await store.epochHistories(of: $0) }
        standings = GatheredReads { try await store.standings(of: $0) }
        holdings = HoldingsCheck(store: store)
        self.grants = grants
        self.lease = lease
        self.epoch = epoch
        self.window = window
        self.clock = clock
        self.logger = logger
    }
}
