import RealmSync

/// A connection of a client to a gateway, with what is on its way, and its session there.
struct SimulatedRealmSession: Sendable {
    /// Work of the session. What is read is on its way then.
    enum Job: Sendable {
        case bind
        case begin(IdentFrame)
        case identify(IdentFrame, HistoryStanding)
        case note(Int64)
        /// Waits for its turn.
        case integrate(RealmUpload, isAlone: Bool)
        case integrated(RealmUpload.Integration)
        case read
        case readEntries(HistoryStanding, after: Int64)
        case haveRead(HistoryPart, HistoryStanding)
    }

    let number: Int
    let client: Int
    let user: String
    var machine: SessionStateMachine
    var job: Job?
    var needsFile = false
    var mayRead = false
    /// Whether the client's file is its.
    var hasFile = false
    var isProgressScheduled = false
    var toGateway: [[UInt8]] = []
    var toClient: [[UInt8]] = []
    /// What there was when the client asked to be told of it.
    var marks: [UInt64: Int64] = [:]
    /// Whether the client has lost the connection, and the gateway doesn't know it yet.
    var isLost = false

    init(number: Int, client: Int, user: String) {
        self.number = number
        self.client = client
        self.user = user
        machine = SessionStateMachine(number: 1, user: user)
    }

    /// How many messages may wait before nothing is added to them.
    static let window = 3

    func now(leaseIsValid: Bool) -> SessionStateMachine.Circumstances {
        .init(mayServe: leaseIsValid && mayRead, hasRoom: toClient.count <= Self.window)
    }
}
