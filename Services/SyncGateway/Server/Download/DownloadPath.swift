import DocumentModel
import DocumentStore
import EventLoop
import Grants
import Logging

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
    let openings = FairGate<ExactText>(places: 32, waiting: 25_000)
    /// The reasons why partitions weren't served, so that the log has each once.
    let failures = Locked(FailureChanges())

    init(
        store: DocumentStore, grants: GrantBook, lease: GrantLease, epoch: EpochWatch, window: Int, clock: WallClock,
        logger: Logger
    ) {
        self.store = store
        self.grants = grants
        self.lease = lease
        self.epoch = epoch
        self.window = window
        self.clock = clock
        self.logger = logger
    }
}
