import DocumentModel
import DocumentStore
import Grants
import Logging

/// What subscriptions need: the documents, and the right to send them.
struct DownloadPath: Sendable {
    let store: DocumentStore
    let grants: GrantBook
    let lease: GrantLease
    let epoch: EpochWatch
    /// The bytes that may wait in a device's socket before it has to catch up.
    let window: Int
    let clock: WallClock
    let logger: Logger
}
