import AppDefinition
import AppRegistry
import ChangeStream
import DocumentModel
import EventLoop
import HTTPServer

/// All open streams of changes, by app and collection.
final class Watches: Sendable {
    private struct App {
        var collections: [ChangeEvent.Namespace: [ObjectIdentifier: Watch]] = [:]
        /// The number of streams of each user.
        var users: [ExactText: Int] = [:]
        var count = 0
        var revisions = RevisionBook()
    }

    private struct State {
        var apps: [ExactText: App] = [:]
        var count = 0
        var isStopping = false
        /// The newest epoch of the database that was seen.
        var epoch: Int32?
    }

    private let limits: WatchLimits
    private let state = Locked(State())
    let retained = RetainedBytes()
    /// Admits the evaluation of the streams' filters: one at a time, in turns by app and user. They must not take the threads on which other
    /// calls are evaluated.
    let filtering = FairGate<ExactText>(places: 1, waiting: 0)

    init(_ limits: WatchLimits) { self.limits = limits }

    /// Whether there are none.
    var isEmpty: Bool { state.withLock { $0.apps.isEmpty } }

    private var all: [Watch] {
        state.withLock { state in state.apps.values.flatMap { $0.collections.values.flatMap(\.values) } }
    }

    // MARK: Opening and closing

    /// - Throws: `HTTPError` 429 `TooManyRequests` beyond a limit, 503 `ServiceUnavailable` when the process stops.
    func add(_ watch: Watch) throws(HTTPError) {
        let (app, user) = (ExactText(watch.claims.app), ExactText(watch.claims.user))
        let refusal: HTTPError? = state.withLock { state in
            if state.isStopping { return HTTPError(503, code: "ServiceUnavailable", "the server is stopping") }
            let present = state.apps[app]
            let isFull =
                present?.users[user] ?? 0 >= limits.perUser
                ? "this user has"
                : present?.count ?? 0 >= limits.perApp
                    ? "the app's users have" : state.count >= limits.total ? "the server has" : nil
            if let isFull {
                return HTTPError(
                    429, code: "TooManyRequests", "\(isFull) too many streams of changes open",
                    headers: ["Retry-After": "10"])
            }
            state.count += 1
            state.apps[app, default: App()].count += 1
            state.apps[app]?.users[user, default: 0] += 1
            state.apps[app]?.collections[watch.wanted.namespace, default: [:]][ObjectIdentifier(watch)] = watch
            return nil
        }
        if let refusal { throw refusal }
        TriggerMetrics.watches.increment()
    }

    /// Removes a stream that `add` has added.
    func remove(_ watch: Watch) {
        let (app, user) = (ExactText(watch.claims.app), ExactText(watch.claims.user))
        state.withLock { state in
            guard var present = state.apps.removeValue(forKey: app) else { return }
            present.collections[watch.wanted.namespace]?[ObjectIdentifier(watch)] = nil
            if present.collections[watch.wanted.namespace]?.isEmpty == true {
                present.collections[watch.wanted.namespace] = nil
            }
            present.users[user] = present.users[user].flatMap { $0 > 1 ? $0 - 1 : nil }
            present.count -= 1
            state.count -= 1
            if present.count > 0 { state.apps[app] = present }
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
        for watch in all where Int(UInt(bitPattern: ObjectIdentifier(watch).hashValue) % UInt(turns)) == turn {
            watch.queue.beat()
        }
    }

    // MARK: Delivering

    /// Whether an app has streams.
    func contains(app: String) -> Bool { state.withLock { $0.apps[app] != nil } }

    /// The collections of an app that are watched.
    func collections(of app: String) -> [ChangeEvent.Namespace] {
        state.withLock { $0.apps[app].map { Array($0.collections.keys) } ?? [] }
    }

    /// The streams of a collection.
    func watches(of namespace: ChangeEvent.Namespace, app: String) -> [Watch] {
        state.withLock { $0.apps[app]?.collections[namespace].map { Array($0.values) } ?? [] }
    }

    /// Notes a revision that the topic brought of a watched app.
    func note(_ revision: Revision, of partition: [UInt8], app: String) -> RevisionBook.Place {
        state.withLock { $0.apps[app]?.revisions.note(revision, of: partition) ?? .next }
    }
}
