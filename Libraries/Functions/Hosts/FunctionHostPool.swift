import ChildProcesses
import DocumentModel
import EventLoop
import FunctionProtocol
import Lifecycle
import Logging
import Metrics

/// Runs functions in a bounded number of host processes, and replaces those that end.
///
/// A host serves one app for its whole life, so that no app sees what another left behind. Because functions may hang, `FairShares`
/// limits how many hosts an app may have at a time: a call of another app always finds a free host, and so does, within an app's
/// share, a call of another user. Calls beyond that wait.
public actor FunctionHostPool: LoopActor, Service {
    public struct Configuration: Sendable {
        /// The maximum number of host processes. Up to half of them are kept idle for the next calls.
        public var hosts: Int
        /// The resident memory, in bytes, beyond which a function is ended.
        public var memoryLimit: Int
        /// The resident memory after a call, in bytes, beyond which the host is replaced.
        public var recycleMemory: Int64
        /// The maximum number of waiting calls per app; a fifth of it per user.
        public var waitingPerApp: Int
        public var executable: String
        public var confinement: HostConfinement

        public init(
            hosts: Int = 8, memoryLimit: Int = 350 << 20, recycleMemory: Int64 = 200 << 20, waitingPerApp: Int = 1000,
            executable: String = CurrentEnvironment.sibling("function-host"), confinement: HostConfinement = .usual
        ) {
            self.hosts = hosts
            self.memoryLimit = memoryLimit
            self.recycleMemory = recycleMemory
            self.waitingPerApp = waitingPerApp
            self.executable = executable
            self.confinement = confinement
        }
    }

    public nonisolated let loop: EventLoop
    private let configuration: Configuration
    private let logger: Logger
    private let gate: FairGate<String>
    private var idle: [FunctionHost] = []

    private let callTimer = Timer(label: "functions_call_seconds", help: "Time from a function's call to its result.")
    private let failures = MetricFamily<Counter>(
        label: "functions_failures_total",
        help: "Function calls that returned no value, by code; Cancelled: the caller no longer waited for the result.",
        dimensions: ["code"])

    public init(configuration: Configuration = Configuration(), loop: EventLoop, logger: Logger) {
        self.configuration = configuration
        self.loop = loop
        self.logger = logger
        gate = FairGate(places: configuration.hosts, waiting: configuration.waitingPerApp)
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
                try await withHost(of: invocation.share, invocation.member, bundle: invocation.bundle) {
                    try await $0.call(invocation)
                }
            }
        } catch {
            failures[(error as? FunctionFailure)?.code.rawValue ?? "Cancelled"].increment()
            throw error
        }
    }

    /// Checks whether a source is valid JavaScript, without running it. Returns `nil` when it is.
    public func check(_ source: FunctionBundle.Source) async throws -> FunctionFailure? {
        let bundle = FunctionBundle(app: "", version: 0, functions: [])
        return try await withHost(of: bundle.app, nil, bundle: bundle) { await $0.check(source) }
    }

    private func withHost<Result: Sendable>(
        of share: String, _ member: ExactText?, bundle: FunctionBundle, _ body: (FunctionHost) async throws -> Result
    ) async throws -> Result {
        do {
            try await gate.enter(share, member: member)
        } catch let refusal as FairGate<String>.Refusal {
            // The shutdown of this process isn't a failure of the function; the caller may repeat the call elsewhere.
            guard refusal != .closed else { throw CancellationError() }
            throw FunctionFailure(code: .executionTimeLimitExceeded, message: "\(refusal)")
        }
        defer { gate.leave(share, member: member) }
        var attempts = 0
        while true {
            attempts += 1
            let host = try await host(for: bundle)
            do {
                let result = try await body(host)
                await giveBack(host)
                return result
            } catch {
                // The host may have ended before the call reached it.
                let mayRepeat = await host.hasLostUntouchedCall
                await giveBack(host)
                guard mayRepeat, attempts == 1 else { throw error }
            }
        }
    }

    // MARK: Hosts

    /// An idle host of the app, or else a new one, which replaces an idle host of another app if necessary.
    private func host(for bundle: FunctionBundle) async throws(FunctionFailure) -> FunctionHost {
        let match = { (host: FunctionHost) in
            host.bundle.app.hasSameBytes(as: bundle.app) && host.bundle.version == bundle.version
        }
        while let index = idle.lastIndex(where: match) {
            let host = idle.remove(at: index)
            if await host.isAlive() { return host }
            await host.stop()  // it ended while it was idle
        }
        if !idle.isEmpty, gate.taken + idle.count > configuration.hosts { await idle.removeFirst().stop() }
        do {
            let host = try FunctionHost(
                executable: configuration.executable, bundle: bundle, memoryLimit: configuration.memoryLimit,
                confinement: configuration.confinement, loop: loop, logger: logger)
            try await host.start()
            return host
        } catch {
            throw FunctionFailure(code: .hostLost, message: "\(error)")
        }
    }

    private func giveBack(_ host: FunctionHost) async {
        if await host.isUsable, await host.memory < configuration.recycleMemory, !gate.isClosed,
            idle.count < max(1, configuration.hosts / 2)
        {
            idle.append(host)
        } else {
            await host.stop()
        }
    }

    private func stop() async {
        gate.close()
        let hosts = idle
        idle = []
        for host in hosts { await host.stop() }
    }
}
