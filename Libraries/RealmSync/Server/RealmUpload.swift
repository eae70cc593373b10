/// What a client has uploaded.
package struct RealmUpload: Sendable {
    package var changesets: [UploadedChangeset]
    /// The client's version up to which it has looked at its own changes, which is acknowledged with the last changeset; 0 if others
    /// follow.
    package var scanned: Int64
    /// The version up to which the client had the history when it uploaded.
    package let reached: Int64
    /// The client's version that was acknowledged before.
    package let acknowledged: Int64
    /// The client's file with its secret, and its user.
    package let file: Int64
    package let salt: Int64
    package let user: String
    /// What the client had when it uploaded, or a later state.
    package let position: HistoryPosition
    /// The client's version before the upload that the history has, as far as the session knows.
    package let former: Int64
    package var mayWrite: Bool

    package init(
        changesets: [UploadedChangeset], scanned: Int64, reached: Int64, acknowledged: Int64, file: Int64, salt: Int64,
        user: String, position: HistoryPosition, former: Int64, mayWrite: Bool
    ) {
        self.changesets = changesets
        self.scanned = scanned
        self.reached = reached
        self.acknowledged = acknowledged
        self.file = file
        self.salt = salt
        self.user = user
        self.position = position
        self.former = former
        self.mayWrite = mayWrite
    }

    /// What came of it.
    package struct Integration: Sendable {
        /// The newest version of the client that is in the history, and the version of the history that it is based on.
        package var clientVersion: Int64 = 0
        package var uploadBase: Int64 = 0
        /// Why the rest of it wasn't integrated.
        package var failure: (any Error)?
        /// The processor time that deciding it took, about.
        package var work = Duration.zero

        package init() {}

        package mutating func take(_ plan: UploadPlan) {
            clientVersion = plan.file.clientVersion
            uploadBase = plan.file.uploadBase
            work += plan.work
        }
    }

    /// The objects that have to be read before the changesets are merged: those that they change and don't create first, but for changesets
    /// that can't be read, and objects that can't be stored.
    package var readObjects: Set<ObjectKey> {
        var changed = ChangedObjects()
        for upload in changesets {
            if let changeset = try? Changeset(upload.bytes) { _ = try? changed.take(changeset) }
        }
        return changed.keys.subtracting(changed.created).filter(\.isStorable)
    }

    package var bytes: Int { changesets.reduce(0) { $0 + $1.bytes.count } }
}
