import DocumentModel

/// One device's subscription to one partition, as the gateway that holds its socket sees it.
///
/// waiting for the grant → attaching to the feed → catching up ⇄ live ⇄ lagging → closed
///
/// While the gateway can't be sure of its grants, a subscription is suspended: it sends nothing, and catches up afterwards.
///
/// - Nothing is sent before the grant is known, and nothing after `revoked`.
/// - The feed is attached, with its position known, before the first chunk is read: changes that are committed after the read come
///   from the feed.
/// - Live frames continue the last chunk without a gap. Frames that come during a catch-up are held up to a bound; beyond it the
///   oldest are dropped, and another chunk is read for their changes.
/// - Frames of an epoch before the subscription's are dropped.
/// - When the socket's queue exceeds the window, nothing is sent; the device catches up from its position when the queue is empty.
public struct SubscriptionStateMachine<Payload: Sendable>: Sendable {
    /// What the owner has to do, in this order.
    public enum Action: Sendable {
        /// Find the user's grant for the partition, then call `granted`, `grantUnavailable` or `revoked`.
        case requestGrant
        /// Tell the device that the partition is open, and what it may do.
        case sendSubscribed(access: Access, head: Revision, lastVersion: Int64)
        /// Tell the device what it may do from now on.
        case sendAccess(Access)
        /// Tell the device to try again later: permissions can't be decided now.
        case sendUnavailable
        /// Tell the device that nothing is sent for now, and that the partition resumes by itself.
        case sendSuspended
        /// Receive the partition's live frames, then call `attached` once the feed's position is known.
        case attach
        /// Read what changed after the revision, in one snapshot and cut by size, then call `chunkRead`. What was deleted up to the
        /// horizon is left out.
        case readChunk(after: ResumePoint, counts: Bool)
        /// Send a chunk of a catch-up, with what the device sends back if the catch-up is cut after it; `nil` with the last one.
        case sendChunk(CatchUpChunk<Payload>, CatchUpProgress, resume: ResumeToken?)
        /// Send a live frame.
        case sendFrame(Payload)
        /// Tell the device to remove the partition's data.
        case sendRevoked(reason: String)
        /// Stop receiving the partition's live frames and forget the subscription.
        case detach
        /// End the session: what the device has doesn't lead to what was read. When it connects again, it is told where to begin.
        case endSession
    }

    private enum State {
        case waitingForGrant
        case attaching
        case catchingUp(CatchUp)
        case live
        case lagging
        case closed
    }

    private struct CatchUp {
        var isReading = true
        var done = 0
        var total = 0
    }

    private var state = State.waitingForGrant
    private var cursor: Revision
    private let origin: ResumePoint
    private let epoch: Int32
    private var isAnnounced = false
    private var isSuspended = false
    /// The number of reads that were in flight at a suspension: this many chunks are skipped.
    private var givenUpReads = 0
    private var held = HeldFrames<Payload>()
    private let window: Int

    /// What the user may do; `none` until the grant is known.
    public private(set) var access = Access.none

    /// - Parameters:
    ///   - origin: Where the service of the device begins, as `EpochHistory.resumePoint` returns it.
    ///   - epoch: The database's epoch when that was asked.
    ///   - window: How many bytes may wait in the queue of the device's socket.
    public init(from origin: ResumePoint, epoch: Int32, window: Int) {
        cursor = origin.revision
        self.origin = origin
        self.epoch = epoch
        self.window = window
    }

    /// Whether the subscription has ended.
    public var isClosed: Bool { if case .closed = state { true } else { false } }

    /// Whether live frames reach the device.
    public var isLive: Bool { if case .live = state { true } else { false } }

    /// The revision up to which the partition was sent to the device.
    public var sentTo: Revision { cursor }

    /// Starts the subscription.
    public mutating func start() -> [Action] { [.requestGrant] }

    /// The grant is known, or has changed.
    public mutating func granted(_ access: Access, reason: String = "notPermitted") -> [Action] {
        if access == .none { return revoked(reason: reason) }
        if case .closed = state { return [] }
        let before = self.access
        self.access = access
        if case .waitingForGrant = state {
            state = .attaching
            return [.attach]
        }
        return access != before && isAnnounced ? [.sendAccess(access)] : []
    }

    /// The grant can't be decided now.
    public mutating func grantUnavailable() -> [Action] {
        guard case .waitingForGrant = state else { return [] }
        state = .closed
        return [.sendUnavailable, .detach]
    }

    /// The feed's position is known.
    ///
    /// - Parameter queued: Bytes that wait in the device's socket, for this partition or others.
    public mutating func attached(queued: Int) -> [Action] {
        guard case .attaching = state else { return [] }
        return catchUp(queued: queued)
    }

    /// The gateway can't be sure of its grants any more.
    public mutating func suspend() -> [Action] {
        if isClosed || isSuspended { return [] }
        isSuspended = true
        switch state {
        case .catchingUp(let catchUp):
            if catchUp.isReading { givenUpReads += 1 }
            lag()
        case .live: lag()
        case .waitingForGrant, .attaching, .lagging, .closed: break
        }
        return [.sendSuspended]
    }

    /// The gateway is sure of its grants again.
    ///
    /// - Parameter queued: Bytes that wait in the device's socket: what was sent before the suspension may still be there.
    public mutating func resume(queued: Int) -> [Action] {
        guard isSuspended else { return [] }
        isSuspended = false
        if case .lagging = state { return catchUp(queued: queued) }
        return []
    }

    /// A chunk was read.
    ///
    /// - Parameter queued: Bytes that wait in the device's socket, without the chunk.
    public mutating func chunkRead(_ chunk: CatchUpChunk<Payload>, queued: Int) -> [Action] {
        if givenUpReads > 0 {
            givenUpReads -= 1
            return []
        }
        guard case .catchingUp(var catchUp) = state else { return [] }
        // A revision of a former epoch says nothing about where the device stands now. And without the tombstones that were dropped
        // since the subscription began, the device would keep what was deleted.
        guard chunk.epoch == epoch, origin.isComplete(after: chunk.from, dropped: chunk.tombstoneHorizon) else {
            return close() ? [.detach, .endSession] : []
        }
        var actions: [Action] = []
        if !isAnnounced {
            isAnnounced = true
            actions.append(.sendSubscribed(access: access, head: chunk.head, lastVersion: chunk.lastVersion))
        }
        catchUp.total = max(catchUp.total, catchUp.done + (chunk.remaining ?? chunk.count))
        catchUp.done += chunk.count
        let resume =
            chunk.isFinal ? nil : ResumeToken(revision: chunk.to, epoch: epoch, horizon: origin.horizon)
        actions.append(
            .sendChunk(chunk, CatchUpProgress(done: catchUp.done, total: catchUp.total), resume: resume))
        cursor = chunk.to
        let queued = queued + chunk.byteCount
        if chunk.isFinal { return actions + goLive(queued: queued) }
        catchUp.isReading = queued <= window
        state = .catchingUp(catchUp)
        if catchUp.isReading { actions.append(readChunk(counts: false)) }
        return actions
    }

    /// A live frame came from the feed.
    ///
    /// - Parameter queued: Bytes that wait in the device's socket, without the frame.
    public mutating func received(_ frame: LiveFrame<Payload>, queued: Int) -> [Action] {
        // What a former epoch kept is in every read since this one began. The rest was lost with the restore, and may still come by the
        // topic, which wasn't restored.
        guard frame.to.epoch >= epoch else { return [] }
        switch state {
        case .attaching, .catchingUp:
            held.append(frame, limit: window)
            return []
        case .live:
            guard frame.to > cursor else { return [] }
            guard frame.from <= cursor else { return catchUp(queued: queued) }
            guard queued + frame.byteCount <= window || queued == 0 else {
                state = .lagging
                return []
            }
            cursor = frame.to
            return [.sendFrame(frame.payload)]
        case .waitingForGrant, .lagging, .closed:
            return []
        }
    }

    /// The queue of the device's socket is empty.
    public mutating func drained() -> [Action] {
        switch state {
        case .lagging: return catchUp(queued: 0)
        case .catchingUp(var catchUp) where !catchUp.isReading:
            catchUp.isReading = true
            state = .catchingUp(catchUp)
            return [readChunk(counts: false)]
        default: return []
        }
    }

    /// The right to read was revoked, or never existed.
    public mutating func revoked(reason: String) -> [Action] {
        close() ? [.detach, .sendRevoked(reason: reason)] : []
    }

    /// The device unsubscribed, or has disconnected.
    public mutating func unsubscribe() -> [Action] { close() ? [.detach] : [] }

    private mutating func close() -> Bool {
        if case .closed = state { return false }
        state = .closed
        access = .none
        held = HeldFrames()
        return true
    }

    /// From now on live frames are dropped; the next catch-up reads their changes.
    private mutating func lag() {
        state = .lagging
        held = HeldFrames()
    }

    /// Reads what the device lacks, unless that has to wait until the rights are known or the queue is empty.
    private mutating func catchUp(queued: Int) -> [Action] {
        if isSuspended || queued > window {
            lag()
            return []
        }
        state = .catchingUp(CatchUp())
        return [readChunk(counts: true)]
    }

    private func readChunk(counts: Bool) -> Action {
        .readChunk(after: ResumePoint(revision: cursor, horizon: origin.horizon), counts: counts)
    }

    private mutating func goLive(queued: Int) -> [Action] {
        guard let frames = held.takeFollowing(cursor) else { return catchUp(queued: queued) }
        state = .live
        var actions: [Action] = []
        var queued = queued
        for frame in frames {
            actions += received(frame, queued: queued)
            queued += frame.byteCount
        }
        return actions
    }
}
