import DocumentModel
import RealmSync

/// A gateway with the sessions of its clients.
struct SimulatedRealmGateway: Sendable {
    /// Uploads of some sessions between their merge and their commit.
    struct Integration: Sendable {
        var sessions: [Int]
        var uploads: [RealmUpload]
        /// The merge of the first; the objects aren't read yet.
        var merge: UploadMerge?
        var planned: PlannedUploads
        let request: Int
        var refusal: String?
        /// Whether objects that are created are taken for new.
        var assumesNew = false
        /// Whether the gateway doesn't have its sessions any more, nor what it knew of the history then.
        var isOrphan = false
    }

    var view = HistoryView()
    /// By the numbers of their connections.
    var sessions: [Int: SimulatedRealmSession] = [:]
    var integration: Integration?
    var leaseIsValid = true
    /// The version of the app that it has.
    var app: SimulatedApp

    init(_ app: SimulatedApp) { self.app = app }

    /// The epoch of the database that it knows.
    var epoch: Int32 = 1
    /// What comes by the topics.
    var heads: [Revision] = []
    /// The newest of them.
    var published = Revision(epoch: 1, number: 0)
    var grants: [(user: String, mayRead: Bool, mayWrite: Bool)] = []

    /// The connections' numbers in a fixed order.
    var numbers: [Int] { sessions.keys.sorted() }
}
