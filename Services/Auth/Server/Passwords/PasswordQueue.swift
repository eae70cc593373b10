import EventLoop

/// The app and the address on whose behalf a password is hashed.
struct PasswordCaller: Sendable {
    var app: String
    var network: ClientNetwork

    init(app: String, origin: CallOrigin) {
        self.app = app
        network = ClientNetwork(origin.address)
    }
}

/// The work that waits for the hashing threads: bounded; apps take turns, and the addresses of an app take turns. Pure.
///
/// An app may fill half of it, an address of an app a fifth, so that none of them keeps the others out.
struct PasswordQueue<Work> {
    /// Why work is refused.
    enum Refusal: Error {
        /// The app or the address has all of its share.
        case share
        /// The queue is full.
        case full
    }

    private struct AppQueue {
        var works = FairShares<ClientNetwork, Work>(places: .max)
        var count = 0
    }

    private let limit: Int
    private var apps: FairShares<String, Void>
    private var queues: [String: AppQueue] = [:]
    /// The number of waiting entries.
    private(set) var count = 0

    /// - Parameters:
    ///   - places: how much work may run at once; one app gets at most half of them.
    ///   - limit: how much may wait.
    init(places: Int, limit: Int) {
        apps = FairShares(places: places)
        self.limit = limit
    }

    /// Begins work at once, if it is the app's turn.
    mutating func take(_ app: String) -> Bool { apps.take(app) }

    /// Adds work that waits.
    mutating func append(_ work: Work, of caller: PasswordCaller) throws(Refusal) {
        guard count < limit else { throw .full }
        let queue = queues[caller.app] ?? AppQueue()
        guard queue.count < max(1, limit / 2), queue.works.waiting(caller.network) < max(1, limit / 5) else {
            throw .share
        }
        queues[caller.app, default: AppQueue()].works.append(work, of: caller.network)
        queues[caller.app]?.count += 1
        apps.append((), of: caller.app)
        count += 1
    }

    /// Records that work of an app has ended.
    mutating func release(_ app: String) { apps.release(app) }

    /// Removes the next work that may begin from the queue; `nil` when there is none.
    mutating func next() -> Work? {
        guard let app = apps.next()?.owner, let (network, work) = queues[app]?.works.next() else { return nil }
        queues[app]?.works.release(network)
        queues[app]?.count -= 1
        if queues[app]?.count == 0 { queues[app] = nil }
        count -= 1
        return work
    }
}
