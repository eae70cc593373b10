/// A client file: a copy of a partition on a device.
package struct ClientFile: Sendable {
    package let number: Int64
    package let salt: Int64
    package let user: String
    /// The client's newest version in the history, and the history's version that it is based on.
    package var clientVersion: Int64
    package var uploadBase: Int64
    /// The history's version that its newest changeset has made; 0 if there is none.
    package var uploaded: Int64 = 0
    /// What was acknowledged before that.
    package var acknowledged: Int64 = 0
    /// The version up to which the client has the history.
    package var base: Int64
    /// The version of the snapshot with which it began; 0 if that was the first entry.
    package var begun: Int64 = 0
    /// That snapshot, as long as it is there.
    package var snapshot: HistorySnapshot?

    package init(
        number: Int64, salt: Int64, user: String, clientVersion: Int64 = 0, uploadBase: Int64 = 0, base: Int64 = 0
    ) {
        self.number = number
        self.salt = salt
        self.user = user
        self.clientVersion = clientVersion
        self.uploadBase = uploadBase
        self.base = base
    }

    /// Whether the client can begin: also once more, if it hasn't got anything yet.
    func canBegin(in standing: HistoryStanding) -> Bool {
        begun == 0 ? base <= standing.base : snapshot(in: standing) != nil && base < begun
    }

    /// The version with which the client begins.
    func beginning(of standing: HistoryStanding) -> Int64 { snapshot(in: standing)?.beginning ?? standing.base }

    /// Whether what the client has up to a version is followed by what there is.
    func canContinue(after version: Int64, in standing: HistoryStanding) -> Bool {
        version >= beginning(of: standing) && (version >= standing.base || snapshot(in: standing) != nil)
    }

    /// A snapshot of what there was before the history began anew isn't one of it.
    private func snapshot(in standing: HistoryStanding) -> HistorySnapshot? {
        snapshot.flatMap { $0.version >= standing.base ? $0 : nil }
    }

    /// What is acknowledged to a client that has the history up to a version.
    /// - Parameters:
    ///   - newest: The client's newest version in what it has.
    ///   - passed: What is acknowledged with its newest changeset in what it has; `nil` if that isn't there any more.
    func acknowledged(upTo version: Int64, newest: Int64, passed: Int64?) -> Int64 {
        if version >= uploaded { return clientVersion }
        // The client may not have got to know yet what became of its last uploads.
        return max(newest, passed ?? (newest > 0 ? acknowledged : 0))
    }

    /// The client has the history up to a version.
    package mutating func reach(_ version: Int64) { base = max(base, version) }
}
