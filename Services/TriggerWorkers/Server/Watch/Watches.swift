import AppDefinition
import AppRegistry
import ChangeStream
import DocumentModel
import EventLoop
import HTTPServer

/// All open streams of changes.
final class Watches: Sendable {
    private struct Counts {
        /// The number of streams of each user.
        var users: [ExactText: Int] = [:]
        /// The number of streams of each network.
        var networks: [UInt64: Int] = [:]
        var total = 0
    }

    private struct State {
        var index = WatchIndex()
        var counts: [ExactText: Counts] = [:]
        var total = 0
        var isStopping = false
        /// The newest epoch of the database that was seen.
        var epoch: Int32?
        /// The offset of the next message of each partition of the topic, as far as the streams have been given what comes before.
        var offsets: [Int64] = []
    }

    private let limits: WatchLimits
    private let state = Locked(State())
    private let clock: WallClock
    let retained = RetainedBytes()
    let filters = WatchFilters()

    init(_ limits: WatchLimits, clock: WallClock) {
        self.limits = limits
        self.clock = clock
    }

    private var all: [Watch] { state.withLock { $0.index.all } }

    // MARK: Opening and closing

    /// Who has many accounts has few addresses: a network gets one more stream only while more are free in the app than it has, as with
    /// ``FairShares``.
    /// - Throws: `HTTPError` 429 `TooManyRequests` beyond a limit, 503 `ServiceUnavailable` when the process stops.
    func add(_ watch: Watch) throws(HTTPError) {
        let (app, user) = (ExactText(watch.claims.app), ExactText(watch.claims.user))
        let refusal: HTTPError? = state.withLock { state in
            if state.isStopping { return HTTPError(503, code: "ServiceUnavailable", "the server is stopping") }
            let present = state.counts[app]
            let (total, ofNetwork) = (present?.total ?? 0, present?.networks[watch.network] ?? 0)
            let isFull: String? =
                if present?.users[user] ?? 0 >= limits.perUser {
                    "this user has"
                } else if total >= limits.perApp {
                    "the app's users have"
                } else if ofNetwork >= limits.perApp - total {
                    "the app's users at this address have"
                } else {
                    state.total >= limits.total ? "the server has" : nil
                }
            if let isFull {
                return HTTPError(
                    429, code: "TooManyRequests", "\(isFull) too many streams of changes open",
                    headers: ["Retry-After": "10"])
            }
            state.total += 1
            state.counts[app, default: Counts()].total += 1
            state.counts[app]?.users[user, default: 0] += 1
            state.counts[app]?.networks[watch.network, default: 0] += 1
            state.index.insert(watch)
            return nil
        }
        if let refusal { throw refusal }
        TriggerMetrics.watches.increment()
    }

    /// Removes a stream that `add` has added.
    func remove(_ watch: Watch) {
        let (app, user) = (ExactText(watch.claims.app), ExactText(watch.claims.user))
        state.withLock { state in
            guard var present = state.counts.removeValue(forKey: app) else { return }
            state.index.remove(watch)
            present.users[user] = present.users[user].flatMap { $0 > 1 ? $0 - 1 : nil }
            present.networks[watch.network] = present.networks[watch.network].flatMap { $0 > 1 ? $0 - 1 : nil }
            present.total -= 1
            state.total -= 1
            if present.total > 0 { state.counts[app] = present }
        }
        TriggerMetrics.watches.decrement()
        TriggerMetrics.watchEnds[(watch.queue.end ?? .left).reason].increment()
    }

    // MARK: Ending

    /// Ends the streams for which there is a reason.
    func end(_ reason: (Watch) -> WatchEnd?) {
        for watch in all { if let reason = reason(watch) { watch.queue.end(reason) } }
    }

    /// Ends all streams, and admits no more.
    func stop() {
        state.withLock { $0.isStopping = true }
        end { _ in .stopping }
    }

    /// Ends the streams of former versions of an app.
    func changed(_ change: AppChange) {
        switch change {
        case .deployed(let app):
            end { $0.claims.app.hasSameBytes(as: app.id) && $0.version != app.version ? .deployed : nil }
        case .secretsChanged: break
        case .removed(let app): end { $0.claims.app.hasSameBytes(as: app) ? .removed : nil }
        }
    }

    /// Reports an epoch of the database. A newer one ends all streams that were opened before: what they brought may be undone.
    /// - Parameter opened: a stream that was opened in this epoch.
    func saw(epoch: Int32, opened: Watch? = nil) {
        let isNew = state.withLock { state in
            let known = state.epoch
            state.epoch = max(epoch, known ?? epoch)
            return known.map { $0 < epoch } ?? false
        }
        if isNew { end { $0 === opened ? nil : .restored } }
    }

    /// Ends the streams for which the most waits, until no more than the limit waits for all.
    func relieve() {
        guard retained.value > limits.memory else { return }
        let slowest = all.lazy.filter { $0.queue.end == nil }.map { (watch: $0, bytes: $0.queue.bytes) }
            .sorted { $0.bytes > $1.bytes }
        for (watch, bytes) in slowest where bytes > 0 && retained.value > limits.memory { watch.queue.end(.crowded) }
    }

    /// Makes a part of the streams send heartbeats.
    /// - Parameter turn: which part, below `turns`.
    func beat(turn: Int, of turns: Int) {
        let position = position
        for watch in all where Int(UInt(bitPattern: ObjectIdentifier(watch).hashValue) % UInt(turns)) == turn {
            watch.queue.beat(position)
        }
    }

    // MARK: Delivering

    /// The place up to which all streams have been given what the topic has; `nil` before the topic is read.
    var position: WatchPosition? {
        let (offsets, epoch) = state.withLock { ($0.offsets, $0.epoch) }
        return offsets.isEmpty ? nil : position(offsets, epoch: epoch ?? 0)
    }

    func position(_ offsets: [Int64], epoch: Int32) -> WatchPosition {
        WatchPosition(offsets: offsets, epoch: epoch, time: clock.now())
    }

    /// The offset of the next message of each partition of the topic: what comes before it has been given to the streams.
    var offsets: [Int64] {
        get { state.withLock { $0.offsets } }
        set { state.withLock { $0.offsets = newValue } }
    }

    func withIndex<Result>(_ body: (inout WatchIndex) -> Result) -> Result { state.withLock { body(&$0.index) } }
}
