public import DocumentModel
import EventLoop
public import Lifecycle
public import Logging
import Postgres

/// A service's copy of the deployed apps, which is loaded at the start, and again when a new version is announced.
///
/// Announcements come by the topic `app-definitions` (see `announcements`). A poll of the versions finds what lost messages would
/// have announced, so that the topic only reduces the delay. A service that can't reach Postgres continues with what it has.
public final class AppDirectory: Service {
    /// Called with each change, in order, by the directory's own task. The next change waits until it returns.
    public typealias Observer = @Sendable (AppChange) async -> Void

    private struct State {
        var apps: [ExactText: DeployedApp] = [:]
        /// The deployed apps whose present version can't be read.
        var unreadable: Set<ExactText> = []
        var isLoaded = false
        var observers: [Observer] = []
        var loadWaiters: [CheckedContinuation<Void, Never>] = []
        /// Callers that wait for a load that starts after their call.
        var refreshWaiters: [CheckedContinuation<Void, any Error>] = []
        var isEnded = false
        /// The versions that Postgres knows this process to have; `nil` before it knows the process.
        var reported: [ExactText: Int64]?
    }

    private let registry: AppRegistry
    private let instance: String?
    private let pollInterval: Duration
    private let logger: Logger
    private let state = Locked(State())
    private let wakeUps: AsyncStream<Void>
    private let wakeUp: AsyncStream<Void>.Continuation

    /// - Parameters:
    ///   - instance: the name under which this process is connected to Postgres, by which a deployment waits until it has the new
    ///     version; `nil` for a process that no deployment waits for.
    ///   - pollInterval: the longest delay after which a lost announcement is noticed.
    public init(
        registry: AppRegistry, instance: String? = nil, pollInterval: Duration = .seconds(5),
        logger: Logger = Logger(label: "app-directory")
    ) {
        self.registry = registry
        self.instance = instance
        self.pollInterval = pollInterval
        self.logger = logger
        // One pending wake-up has the same effect as many: each load compares all versions.
        (wakeUps, wakeUp) = AsyncStream.makeStream(bufferingPolicy: .bufferingNewest(1))
    }

    /// The app of this id, or `nil` when none is deployed. Takes a lock.
    public func app(_ id: String) -> DeployedApp? { state.withLock { $0.apps[id] } }

    /// The version of an app that is deployed can't be read by this process: a newer one has stored it, for instance.
    public struct Unreadable: Error, CustomStringConvertible {
        let app: ExactText

        public var description: String { "the deployed version of \(app) can't be read" }
    }

    /// Throws unless the present versions of apps could be read, as far as they are deployed: what an app does about an event isn't known
    /// otherwise.
    public func requireReadable(_ apps: some Sequence<ExactText>) throws(Unreadable) {
        let unreadable = state.withLock { $0.unreadable }
        if unreadable.isEmpty { return }
        for app in apps where unreadable.contains(app) { throw Unreadable(app: app) }
    }

    /// All apps, by id.
    public var apps: [ExactText: DeployedApp] { state.withLock { $0.apps } }

    /// Whether the apps were loaded since the start.
    public var isLoaded: Bool { state.withLock { $0.isLoaded } }

    /// Waits until the apps were loaded for the first time.
    public func waitUntilLoaded() async {
        await withCheckedContinuation { continuation in
            let isLoaded = state.withLock { state in
                if !state.isLoaded { state.loadWaiters.append(continuation) }
                return state.isLoaded
            }
            if isLoaded { continuation.resume() }
        }
    }

    /// Calls an observer with each change from now on. Observers that are added before `run` see every app.
    public func onChange(_ observer: @escaping Observer) { state.withLock { $0.observers.append(observer) } }

    /// Makes the directory load new versions immediately.
    public func announce() { wakeUp.yield() }

    /// Waits until the directory has all versions that were deployed before the call. So a handler of an event has the definitions
    /// from the time of the event. Concurrent callers share one load.
    /// - Throws: the error of the registry; `CancellationError` when the directory has ended.
    public func refresh() async throws {
        try await withCheckedThrowingContinuation { (continuation: CheckedContinuation<Void, any Error>) in
            let isEnded = state.withLock { state in
                if !state.isEnded { state.refreshWaiters.append(continuation) }
                return state.isEnded
            }
            if isEnded { continuation.resume(throwing: CancellationError()) } else { announce() }
        }
    }

    /// Keeps the apps up to date until graceful shutdown or cancellation.
    public func run() async throws {
        do {
            try await cancelWhenGracefulShutdown { try await self.follow() }
        } catch is CancellationError {
            // It ends by cancellation.
        }
        let waiters = state.withLock { state in
            state.isEnded = true
            defer { state.refreshWaiters = [] }
            return state.refreshWaiters
        }
        for waiter in waiters { waiter.resume(throwing: CancellationError()) }
    }

    private func follow() async throws {
        await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask {
                while true {
                    try await Task.sleep(for: self.pollInterval)
                    self.announce()
                }
            }
            announce()
            for await _ in wakeUps { await look() }
            // The stream never finishes: it ends when this task is cancelled.
            group.cancelAll()
        }
        try Task.checkCancellation()
    }

    /// Loads new versions, and resumes the callers of `refresh` that waited before it began. A failure is logged; the next poll
    /// tries again.
    private func look() async {
        let waiters = state.withLock { state in
            defer { state.refreshWaiters = [] }
            return state.refreshWaiters
        }
        do {
            try await load()
            markLoaded()
            for waiter in waiters { waiter.resume() }
        } catch {
            for waiter in waiters { waiter.resume(throwing: error) }
            if error is CancellationError { return }
            logger.warning("the apps' versions can't be loaded", metadata: ["error": "\(error)"])
        }
    }

    /// Compares the versions and loads those that differ.
    private func load() async throws {
        let versions = try await registry.revisions()
        let known = state.withLock { $0.apps }
        var unreadable: Set<ExactText> = []
        for (key, revision) in versions.sorted(by: { $0.key < $1.key }) {
            let id = key.text
            let present = known[key]
            if let present, present.revisions == revision { continue }
            do {
                guard let app = try await registry.load(id) else { continue }
                state.withLock { $0.apps[id] = app }
                // A service without keys has no use for secrets.
                for name in app.unreadableSecrets where !registry.keys.isEmpty {
                    logger.error(
                        "a secret can't be read with the configured encryption.keys",
                        metadata: ["app": "\(id)", "secret": "\(name)"])
                }
                // New secrets and pauses don't change the definition.
                if let present, app.version == present.version {
                    if app.secretsVersion != present.secretsVersion { await tell(.secretsChanged(app)) }
                    continue
                }
                logger.notice("app loaded", metadata: ["app": "\(id)", "app.version": "\(app.version)"])
                await tell(.deployed(app))
            } catch let error as AppRegistryError {
                // One app that can't be read must not prevent loading the others.
                unreadable.insert(key)
                logger.error("app can't be loaded", metadata: ["app": "\(id)", "error": "\(error)"])
            }
        }
        state.withLock { [unreadable] in $0.unreadable = unreadable }
        for id in known.keys.sorted().map(\.text) where versions[id] == nil {
            state.withLock { $0.apps[id] = nil }
            logger.notice("app removed", metadata: ["app": "\(id)"])
            await tell(.removed(app: id))
        }
        await report()
    }

    /// Tells Postgres which versions this process has, after its observers have taken them.
    private func report() async {
        guard let instance else { return }
        let (apps, reported) = state.withLock { ($0.apps.mapValues(\.version), $0.reported) }
        guard apps != reported else { return }
        do {
            let known = reported ?? [:]
            try await registry.report(
                instance, has: apps.filter { known[$0.key] != $0.value }, hasNot: known.keys.filter { apps[$0] == nil })
            state.withLock { $0.reported = apps }
        } catch {
            // A deployment says that this process hasn't taken its version; the next poll tries again.
            logger.debug("the apps' versions can't be reported", metadata: ["error": "\(error)"])
        }
    }

    private func tell(_ change: AppChange) async {
        for observer in state.withLock({ $0.observers }) { await observer(change) }
    }

    private func markLoaded() {
        let waiters = state.withLock { state in
            state.isLoaded = true
            defer { state.loadWaiters = [] }
            return state.loadWaiters
        }
        for waiter in waiters { waiter.resume() }
    }
}
