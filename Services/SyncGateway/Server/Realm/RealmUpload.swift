import EventLoop
import RealmSync

/// What a client has uploaded.
struct RealmUpload: Sendable {
    var changesets: [UploadedChangeset]
    /// How far the client has looked at its own changes.
    var progress: Progress
    /// The client's file, and its user.
    let file: Int64
    let user: String
    let mayWrite: Bool

    /// How far a client has looked at its own changes, and up to which version it had the history then. What it has looked at is
    /// acknowledged with its last changeset, also if there was nothing to upload in it.
    struct Progress: Sendable {
        var clientVersion: Int64
        var serverVersion: Int64
    }

    /// What came of it.
    struct Integration: Sendable {
        /// The newest version of the client that is in the history, and the version of the history that it is based on.
        var clientVersion: Int64 = 0
        var uploadBase: Int64 = 0
        /// The writes that were refused and are undone.
        var refused: [SessionError.CompensatingWrite] = []
        /// Why the rest of it wasn't integrated.
        var failure: (any Error)?
        /// The processor time that deciding it took, about.
        var work = Duration.zero

        mutating func take(_ plan: UploadPlan) {
            clientVersion = plan.file.clientVersion
            uploadBase = plan.file.uploadBase
            refused += plan.refused
            work += plan.work
        }
    }

    var bytes: Int { changesets.reduce(0) { $0 + $1.bytes.count } }
}

/// An upload that waits for its turn, or for others to take it along.
final class WaitingUpload: Sendable {
    let upload: RealmUpload
    private let state = Locked<RealmUpload.Integration?>(nil)

    init(_ upload: RealmUpload) { self.upload = upload }

    var result: RealmUpload.Integration? { state.withLock { $0 } }

    func end(_ result: RealmUpload.Integration) { state.withLock { $0 = result } }
}
