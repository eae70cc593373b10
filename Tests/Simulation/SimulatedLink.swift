import DocumentModel
import SyncEngine

/// One connection between a device and its gateway, with the frames in flight, which are lost with it.
struct SimulatedLink: Sendable {
    enum Up {
        case subscribe(Revision, resume: String?)
        case upload(Changeset)
    }

    enum Down {
        case subscribed(Access, lastVersion: Int64)
        case download(Download)
        case ack(version: Int64, Revision, [LostWrite])
        case rejected(version: Int64, OperationRejection)
        case forked(version: Int64)
        case gap
        case access(Access)
        case revoked
    }

    var up: [Up] = []
    /// Answers to uploads that aren't sent yet: a committed changeset may reach its device by the feed before.
    var answers: [Down] = []
    var down: [Down] = []
    var subscription: SubscriptionStateMachine<Download>?
    /// The position in the feed from which live frames are read; `nil` while the gateway isn't attached.
    var feedPosition: Int?
    /// What the user may do.
    var access = Access.write
    /// Whether the gateway's lease has lapsed.
    var isSuspended = false
    /// The revisions after which chunks have to be read.
    var reading: [Revision] = []
    /// Chunks that were read, and haven't arrived yet.
    var late: [CatchUpChunk<Download>] = []
    /// The gateway has ended the session.
    var isEnded = false
    /// What the gateway did that it never may.
    var violations: [String] = []
    /// The revision up to which frames were sent since `subscribe`; `nil` before the first.
    private var sentTo: Revision?
    private var start = EpochHistory.beginning

    /// How many changes may wait in the socket.
    static let window = 6
    /// How many changes a chunk or a frame has at the most.
    static let largest = 5

    var queued: Int {
        down.reduce(0) { if case .download(let download) = $1 { $0 + max(download.changes.count, 1) } else { $0 } }
    }

    /// The device has asked for the partition.
    mutating func subscribe(from point: ResumePoint, epoch: Int32, feedEnd: Int) {
        var machine = SubscriptionStateMachine<Download>(from: point, epoch: epoch, window: Self.window)
        var actions = machine.start()
        if isSuspended { actions += machine.suspend() }
        subscription = machine
        (start, sentTo, reading, late) = (point.revision, nil, [], [])
        perform(actions, feedEnd: feedEnd)
    }

    mutating func perform(_ actions: [SubscriptionStateMachine<Download>.Action], feedEnd: Int) {
        for action in actions {
            switch action {
            case .requestGrant: perform(subscription?.granted(access) ?? [], feedEnd: feedEnd)
            case .attach:
                feedPosition = feedEnd
                let queued = self.queued
                perform(subscription?.attached(queued: queued) ?? [], feedEnd: feedEnd)
            case .readChunk(let after, _): reading.append(after)
            case .sendSubscribed(let access, _, let lastVersion):
                down.append(.subscribed(access, lastVersion: lastVersion))
            case .sendChunk(let chunk, let progress, let resume):
                var download = chunk.payload
                download.catchUp?.progress = progress
                download.catchUp?.isFinal = chunk.isFinal
                download.catchUp?.resume = resume?.text
                send(download)
            case .sendFrame(let download): send(download)
            case .sendAccess(let access): down.append(.access(access))
            case .sendRevoked: down.append(.revoked)
            case .sendUnavailable, .detach: feedPosition = nil
            case .sendSuspended: break
            case .endSession: isEnded = true
            }
        }
    }

    /// Sends changes, and checks that they continue what was sent, within the bounds, to somebody who may read them.
    private mutating func send(_ download: Download) {
        if access == .none { violations.append("changes are sent after the right was revoked") }
        if isSuspended { violations.append("changes are sent while the rights are unknown") }
        let before = sentTo ?? start
        if download.catchUp != nil {
            if download.from != before { violations.append("a chunk follows \(download.from), sent was \(before)") }
        } else {
            if download.from > before { violations.append("a frame follows \(download.from), sent was \(before)") }
            if download.to <= before { violations.append("a frame repeats \(download.to)") }
        }
        sentTo = download.to
        down.append(.download(download))
        if queued > Self.window + Self.largest { violations.append("\(queued) changes wait in the socket") }
    }
}
