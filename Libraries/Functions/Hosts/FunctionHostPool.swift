import ChildProcesses
import DocumentModel
import EventLoop
import FunctionProtocol
import Glibc
import Lifecycle
import Logging
import Metrics

/// Runs functions in a bounded number of host processes, and replaces those that end. A host has many calls in flight: one that waits
/// costs only memory.
///
/// A host serves one app for its whole life, so that no app sees what another left behind. `FairShares` limits how many calls an app may
/// have in flight, within an app a user, and how many processes an app may have: a call of another app always finds a place. Calls
/// beyond that wait.
///
/// **Calls that share a host** share its thread. One that computes for longer than a second starts again in a host of its own, if it
/// can, and so does from then on every call of its function, for some minutes; the same if it ended its host. When a host ends with calls
/// that aren't to blame, those of which nothing has left the process start again elsewhere; the others fail with
/// ``FunctionFailure/Code/hostLost``.
public actor FunctionHostPool: LoopActor, Service {
    public struct Configuration: Sendable {
        /// The maximum number of host processes. Up to half of them are kept idle for the next calls.
        public var hosts: Int
        /// The maximum number of calls in flight.
        public var calls: Int
        /// The maximum number of calls in flight in one host.
        public var callsPerHost: Int
        /// The resident memory of a host, in bytes, beyond which a function is ended.
        public var memoryLimit: Int
        /// The resident memory after a call, in bytes, beyond which the host is replaced.
        public var recycleMemory: Int64
        /// The maximum number of waiting calls per app; a fifth of it per user.
        public var waitingPerApp: Int
        public var executable: String
        public var confinement: HostConfinement

        public init(
            hosts: Int = 8, calls: Int = 1024, callsPerHost: Int = 256, memoryLimit: Int = 350 << 20,
            recycleMemory: Int64 = 200 << 20, waitingPerApp: Int = 1000,
            executable: String = CurrentEnvironment.sibling("function-host"), confinement: HostConfinement = .usual
        ) {
            self.hosts = hosts
            self.calls = calls
            self.callsPerHost = min(callsPerHost, HostActivity.maximumCalls)
            self.memoryLimit = memoryLimit
            self.recycleMemory = recycleMemory
            self.waitingPerApp = waitingPerApp
            self.executable = executable
            self.confinement = confinement
        }
    }

    private struct FunctionKey: Hashable {
        @ExactText var app: String
        @ExactText var function: String
        /// The user who calls it; `nil` for all callers.
        var member: ExactText?

        init(_ invocation: FunctionInvocation) {
            app = invocation.bundle.app
            function = invocation.call.function
            member = invocation.member
        }

        var ofAll: FunctionKey {
            var key = self
            key.member = nil
            return key
        }
    }

    /// On whose behalf functions run.
    private struct Caller: Hashable {
        @ExactText var share: String
        let member: ExactText?
    }

    private struct Waiter {
        let number: Int
        let app: ExactText
        let caller: Caller
        let continuation: CheckedContinuation<Void, any Error>
    }

    public nonisolated let loop: EventLoop
    /// The memory for answers to effects of all apps, shared by them.
    private let answers = InflightBudget(limit: 256 << 20)
    private let configuration: Configuration
    private let logger: Logger
    /// The calls in flight.
    private let gate: FairGate<String>
    /// The calls that have a host for themselves.
    private let ownHosts: FairGate<String>
    /// The one that was idle for the longest time is first.
    private var hosts: [FunctionHost] = []
    /// Calls that wait for a host.
    private var waiters: [Waiter] = []
    private var lastWaiter = 0
    /// How many calls each caller has that run or wait for a host.
    private var callers: [Caller: Int] = [:]
    /// The functions whose calls get hosts of their own, until when.
    private var apart: [FunctionKey: ContinuousClock.Instant] = [:]

    private static let apartTime = Duration.seconds(600)
    private static let maximumApart = 1000
    /// The users for whom a function runs apart after which it does so for all.
    private static let many = 8
    /// The calls in flight in each of an app's hosts for which another is started while there are cores for it.
    private static let spread = 2
    private static let cores = max(1, Int(sysconf(Int32(_SC_NPROCESSORS_ONLN))))
    /// How often a call starts again that was ended with its host.
    private static let maximumRepeats = 3

    private let callTimer = Timer(label: "functions_call_seconds", help: "Time from a function's call to its result.")
    private let failures = MetricFamily<Counter>(
        label: "functions_failures_total",
        help: "Function calls that returned no value, by code; Cancelled: the caller no longer waited for the result.",
        dimensions: ["code"])

    public init(configuration: Configuration = Configuration(), loop: EventLoop, logger: Logger) {
        self.configuration = configuration
        self.loop = loop
        self.logger = logger
        gate = FairGate(places: configuration.calls, waiting: configuration.waitingPerApp)
        ownHosts = FairGate(places: max(1, configuration.hosts - 1), waiting: configuration.waitingPerApp)
    }

    /// Keeps hosts until a graceful shutdown, and ends them then.
    public func run() async throws {
        try? await gracefulShutdown()  // a cancellation ends it as well
        await stop()
    }

    /// Runs a function. When the task is cancelled, the function is ended as by a time limit.
    /// - Throws: `FunctionFailure`; `CancellationError` when the task is cancelled or the pool is shut down.
    public func run(_ invocation: FunctionInvocation) async throws -> Value {
        do {
            return try await callTimer.measure {
                try await enter(gate, invocation.share, invocation.member) { try await perform(invocation) }
            }
        } catch {
            failures[(error as? FunctionFailure)?.code.rawValue ?? "Cancelled"].increment()
            throw error
        }
    }

    /// Checks whether a source is valid JavaScript, without running it. Returns `nil` when it is.
    public func check(_ source: FunctionBundle.Source) async throws -> FunctionFailure? {
        let bundle = FunctionBundle(app: "", version: 0, functions: [])
        return try await withOwnHost(Caller(share: bundle.app, member: nil), bundle) { await $0.check(source) }
    }

    private func perform(_ invocation: FunctionInvocation) async throws -> Value {
        let key = FunctionKey(invocation)
        let caller = Caller(share: invocation.share, member: invocation.member)
        callers[caller, default: 0] += 1
        defer { callers[caller] = callers[caller].flatMap { $0 > 1 ? $0 - 1 : nil } }
        var isAlone = invocation.needsOwnHost
        var repeats = 0
        while true {
            do {
                if isAlone || isApart(key) {
                    return try await withOwnHost(caller, invocation.bundle) { try await $0.call(invocation) }
                }
                let host = try await host(for: invocation.bundle, caller, sharing: key)
                defer { giveBack(host) }
                return try await host.call(invocation)
            } catch let displaced as FunctionHost.Displaced {
                isAlone = isAlone || displaced.needsOwnHost
                repeats += displaced.isLost ? 1 : 0
                guard repeats <= Self.maximumRepeats else {
                    throw FunctionFailure(
                        code: .hostLost, message: "the function's processes ended before it could begin: call it again",
                        function: key.function)
                }
            }
        }
    }

    private func withOwnHost<Result: Sendable>(
        _ caller: Caller, _ bundle: FunctionBundle, _ body: (FunctionHost) async throws -> Result
    ) async throws -> Result {
        try await enter(ownHosts, caller.share, caller.member) {
            let host = try await host(for: bundle, caller)
            defer { giveBack(host) }
            return try await body(host)
        }
    }

    private func enter<Result: Sendable>(
        _ gate: FairGate<String>, _ share: String, _ member: ExactText?, _ body: () async throws -> Result
    ) async throws -> Result {
        do {
            try await gate.enter(share, member: member)
        } catch let refusal as FairGate<String>.Refusal {
            // The shutdown of this process isn't a failure of the function; the caller may repeat the call elsewhere.
            guard refusal != .closed else { throw CancellationError() }
            var failure = FunctionFailure(code: .executionTimeLimitExceeded, message: "\(refusal)")
            failure.waitedForOthers = true
            throw failure
        }
        defer { gate.leave(share, member: member) }
        return try await body()
    }

    // MARK: Functions apart

    private func isApart(_ key: FunctionKey) -> Bool { isListed(key) || isListed(key.ofAll) }

    private func isListed(_ key: FunctionKey) -> Bool {
        guard let end = apart[key] else { return false }
        if end > .now { return true }
        apart[key] = nil
        return false
    }

    /// Has a function run apart that has obstructed others. What one user's arguments make of it says little about the calls of others, so it
    /// runs apart for that user first, and for all when it obstructs for many.
    private func setApart(_ key: FunctionKey) {
        list(key)
        if key.member != nil, apart.keys.count(where: { $0.ofAll == key.ofAll && $0.member != nil }) >= Self.many {
            list(key.ofAll)
        }
    }

    private func list(_ key: FunctionKey) {
        if apart.count >= Self.maximumApart, apart[key] == nil, let oldest = apart.min(by: { $0.value < $1.value })?.key
        {
            apart[oldest] = nil
        }
        apart[key] = .now + Self.apartTime
    }

    // MARK: Hosts

    /// A host with a place for a call, which the caller must give back. Waits until there is one.
    /// - Parameter function: the function that is called, if it shares the host; `nil` for a host that the call has for itself.
    /// - Throws: `FunctionHost.Displaced` when the function was set apart meanwhile.
    private func host(
        for bundle: FunctionBundle, _ caller: Caller, sharing function: FunctionKey? = nil
    ) async throws -> FunctionHost {
        let isAlone = function == nil
        while true {
            guard !gate.isClosed else { throw CancellationError() }
            if let host = try choose(bundle, isAlone: isAlone) {
                guard isAlive(host) else { continue }
                place(on: host, isAlone: isAlone)
                return host
            }
            makeWay(for: bundle, isAlone: isAlone)
            try await waitForChange(ExactText(bundle.app), caller)
            if let function, isApart(function) { throw FunctionHost.Displaced(needsOwnHost: true) }
        }
    }

    /// Whether the process hasn't ended. That may not have been noticed yet.
    private func isAlive(_ host: FunctionHost) -> Bool {
        let isAlive = host.assumeIsolated { $0.isAlive() }
        if !isAlive { remove(host) }
        return isAlive
    }

    private func place(on host: FunctionHost, isAlone: Bool) {
        host.assumeIsolated {
            $0.placed += 1
            if isAlone { $0.reserve() }
        }
    }

    private func choose(_ bundle: FunctionBundle, isAlone: Bool) throws(FunctionFailure) -> FunctionHost? {
        let open = hosts.filter { host in
            host.bundle.app.hasSameBytes(as: bundle.app) && host.bundle.version == bundle.version
                && host.assumeIsolated { $0.isOpen }
        }
        if isAlone {
            let idle = open.filter { $0.assumeIsolated { $0.isCalm } }
            if let host = idle.last(where: { $0.assumeIsolated { $0.hasLowPriority } }) ?? idle.last { return host }
            return try mayStart(bundle, isAlone: true) ? start(bundle) : nil
        }
        let ours = open.filter { !$0.assumeIsolated { $0.hasLowPriority } }
        let fitting = ours.map { host in host.assumeIsolated { (host: host, placed: $0.placed, isReady: $0.isReady) } }
            .filter { $0.placed < configuration.callsPerHost }
        guard
            let best = fitting.min(by: { a, b in
                a.isReady != b.isReady ? a.isReady : a.placed < b.placed
            })
        else { return try mayStart(bundle) ? start(bundle) : nil }
        // For the next calls; this one doesn't wait for the start.
        if best.isReady, best.placed >= Self.spread, ours.count < Self.cores, hosts.count < configuration.hosts,
            fitting.allSatisfy(\.isReady), mayStart(bundle)
        {
            _ = try start(bundle)
        }
        return best.host
    }

    /// Whether an app may have one more process: if one is free, the first for calls that share it and the first for a call that needs it
    /// for itself, since a call of one kind may wait for one of the other; more only while more are free than it has.
    /// Hosts that take no more calls, since they have former versions of its functions or too much memory, don't count as its own: a
    /// call in one of them may wait for a call that needs another.
    private func mayStart(_ bundle: FunctionBundle, isAlone: Bool = false) -> Bool {
        let busy = hosts.filter { !$0.assumeIsolated { $0.isIdle } }
        let own = busy.filter { host in
            host.bundle.app.hasSameBytes(as: bundle.app) && host.bundle.version == bundle.version
                && !host.assumeIsolated { $0.isDraining }
        }
        let free = configuration.hosts - busy.count
        return own.count < free || free > 0 && !own.contains { host in host.assumeIsolated { $0.isAlone } == isAlone }
    }

    /// Starts a host, in place of the one that was idle for the longest time if there are as many as there may be.
    private func start(_ bundle: FunctionBundle) throws(FunctionFailure) -> FunctionHost {
        if hosts.count >= configuration.hosts {
            // A call that was answered doesn't keep others from a process.
            let calm = hosts.first { $0.assumeIsolated { $0.isCalm } }
            if let idle = calm ?? hosts.first(where: { $0.assumeIsolated { $0.isIdle } }) { remove(idle) }
        }
        do {
            let host = try FunctionHost(
                executable: configuration.executable, bundle: bundle, memoryLimit: configuration.memoryLimit,
                confinement: configuration.confinement, answers: answers, loop: loop, logger: logger,
                changed: { [weak self] in self?.assumeIsolated { $0.wake() } },
                obstructed: { [weak self] invocation in
                    self?.assumeIsolated { $0.setApart(FunctionKey(invocation)) }
                },
                calmed: { [weak self] host in self?.assumeIsolated { $0.tidy(host) } })
            try host.assumeIsolated { try $0.start() }
            hosts.append(host)
            return host
        } catch {
            throw FunctionFailure(code: .hostLost, message: "\(error)")
        }
    }

    private func giveBack(_ host: FunctionHost) {
        host.assumeIsolated { host in
            host.placed -= 1
            if host.memory >= configuration.recycleMemory || gate.isClosed { host.isDraining = true }
            if host.isIdle { host.isAlone = false }
        }
        tidy(host)
        wake()
    }

    /// Ends a host that has nothing to do, if it takes no more calls, or there are many such hosts.
    private func tidy(_ host: FunctionHost) {
        guard let index = hosts.firstIndex(where: { $0 === host }) else { return }
        let (isUsable, isIdle, isEnding) = host.assumeIsolated {
            ($0.isUsable, $0.isIdle, $0.isDraining && $0.isCalm)
        }
        if !isUsable || isEnding {
            remove(host)
        } else if isIdle {
            hosts.remove(at: index)
            hosts.append(host)
            let calm = hosts.filter { $0.assumeIsolated { $0.isCalm } }
            if calm.count > max(1, configuration.hosts / 2) { remove(calm[0]) }
        }
    }

    private func remove(_ host: FunctionHost) {
        hosts.removeAll { $0 === host }
        host.assumeIsolated { $0.kill() }
    }

    /// Lets a host get no more calls, so that it ends for an app that has none, or a call that needs one for itself, and no process is
    /// free. The app with the most hosts gives up the one that has the fewest calls.
    ///
    /// An app's own hosts that take no more calls, or one only, don't count: a call in one of them may wait for the call that needs another.
    private func makeWay(for bundle: FunctionBundle, isAlone: Bool) {
        func isOwn(_ host: FunctionHost) -> Bool { host.bundle.app.hasSameBytes(as: bundle.app) }
        let takesMore = hosts.contains { host in
            isOwn(host) && host.bundle.version == bundle.version
                && !host.assumeIsolated { $0.isDraining || $0.isAlone }
        }
        guard isAlone || !takesMore else { return }
        // As many as there are apps that wait.
        let ending = hosts.count { host in !isOwn(host) && host.assumeIsolated { $0.isDraining } }
        guard ending < Set(waiters.map(\.app)).union([ExactText(bundle.app)]).count else { return }
        let others = hosts.filter { host in host.assumeIsolated { !$0.isDraining && !$0.isAlone } }
        let counts = Dictionary(grouping: others) { ExactText($0.bundle.app) }.mapValues(\.count)
        let chosen = others.max { a, b in
            let (first, second) = (counts[ExactText(a.bundle.app)] ?? 0, counts[ExactText(b.bundle.app)] ?? 0)
            return first != second ? first < second : a.assumeIsolated { $0.placed } > b.assumeIsolated { $0.placed }
        }
        guard let chosen else { return }
        chosen.assumeIsolated { $0.drain() }
    }

    // MARK: Waiting for a host

    private func waitForChange(_ app: ExactText, _ caller: Caller) async throws {
        lastWaiter += 1
        let number = lastWaiter
        try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { (continuation: CheckedContinuation<Void, any Error>) in
                if Task.isCancelled { return continuation.resume(throwing: CancellationError()) }
                waiters.append(Waiter(number: number, app: app, caller: caller, continuation: continuation))
            }
        } onCancel: {
            loop.execute { self.assumeIsolated { $0.stopWaiting(number) } }
        }
    }

    private func stopWaiting(_ number: Int) {
        guard let index = waiters.firstIndex(where: { $0.number == number }) else { return }
        waiters.remove(at: index).continuation.resume(throwing: CancellationError())
    }

    /// Lets those that wait for a host look again. Those whose callers have the fewest calls are first: a host that has been in the middle of
    /// a long step takes up what comes first, and nothing else until the end of its next step.
    private func wake() {
        let woken = waiters.map { (calls: callers[$0.caller] ?? 0, waiter: $0) }
            .sorted { ($0.calls, $0.waiter.number) < ($1.calls, $1.waiter.number) }
        waiters = []
        for (_, waiter) in woken { waiter.continuation.resume() }
    }

    private func stop() async {
        gate.close()
        ownHosts.close()
        let present = hosts
        hosts = []
        wake()
        for host in present { await host.stop() }
    }
}
