import DocumentModel
import SyncEngine

/// One connection between a device and its gateway, with the frames in flight, which are lost with it.
struct SimulatedLink {
    enum Up {
        case subscribe(Revision)
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
    /// A chunk that has to be read.
    /// Tombstones up to here aren't needed, since the subscription began with the whole state.
    var knownHorizon = EpochHistory.beginning
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
