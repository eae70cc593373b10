import DocumentModel
import SyncEngine

/// One connection between a device and its gateway, with the frames in flight, which are lost with it.
struct SimulatedLink {
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
    var down: [Down] = []
    var subscription: SubscriptionStateMachine<Download>?
    /// The position in the feed from which live frames are read; `nil` while the gateway isn't attached.
    var feedPosition: Int?
    /// What the user may do.
    var access = Access.write
    /// Where the subscription began.
    var resumePoint = ResumePoint(revision: EpochHistory.beginning)
    /// The epoch in which it began.
    var epoch: Int32 = 0
    /// A chunk that has to be read after this revision.
    var reading: Revision?

    var queued: Int {
        down.reduce(0) { if case .download(let download) = $1 { $0 + max(download.changes.count, 1) } else { $0 } }
    }

    mutating func perform(_ actions: [SubscriptionStateMachine<Download>.Action], feedEnd: Int) {
        for action in actions {
            switch action {
            case .requestGrant: perform(subscription?.granted(access) ?? [], feedEnd: feedEnd)
            case .attach:
                feedPosition = feedEnd
                perform(subscription?.attached() ?? [], feedEnd: feedEnd)
            case .readChunk(let after, _): reading = after
            case .sendSubscribed(let access, _, let lastVersion):
                down.append(.subscribed(access, lastVersion: lastVersion))
            case .sendChunk(let chunk, let progress):
                var download = chunk.payload
                download.catchUp?.progress = progress
                download.catchUp?.isFinal = chunk.isFinal
                if !chunk.isFinal {
                    download.catchUp?.resume =
                        ResumeToken(revision: chunk.to, epoch: epoch, horizon: resumePoint.horizon).text
                }
                down.append(.download(download))
            case .sendFrame(let download): down.append(.download(download))
            case .sendAccess(let access): down.append(.access(access))
            case .sendRevoked: down.append(.revoked)
            case .sendUnavailable, .detach: feedPosition = nil
            case .sendSuspended: break
            }
        }
    }
}
