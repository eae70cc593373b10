import DocumentStore
import EventLoop
import Logging

/// What changesets need on their way to the store.
final class UploadPath: Sendable {
    let committer: GroupCommitter
    /// The reasons why uploads weren't committed, so that the log has each once.
    let failures = Locked(FailureChanges())
    let logger: Logger

    init(committer: GroupCommitter, logger: Logger) {
        self.committer = committer
        self.logger = logger
    }
}
