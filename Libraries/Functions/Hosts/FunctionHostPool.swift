import ChildProcesses
import DocumentModel
import EventLoop
import FunctionProtocol
import Lifecycle
import Logging
import Metrics

/// Runs functions in a bounded number of host processes, and replaces those that end.
///
/// A host has one app for its life, so that no app meets what another left behind. Where all hosts are busy, calls wait; the next
/// one is taken from the app that has waited longest since its last turn, so that a busy app can't keep out the others.
public actor FunctionHostPool: LoopActor, Service {
    public struct Configuration: Sendable {
        /// Host processes at the most.
        public var hosts: Int
        /// Bytes of resident memory beyond which a function is ended.
        public var memoryLimit: Int
        /// Bytes after a call beyond which the host is replaced.
        public var recycleMemory: Int64
        /// Calls that may wait, per app.
        public var waitingPerApp: Int
        public var executable: String

        public init(
            hosts: Int = 4, memoryLimit: Int = 350 << 20, recycleMemory: Int64 = 200 << 20, waitingPerApp: Int = 1000,
            executable: String = CurrentEnvironment.sibling("function-host")
        ) {
            self.hosts = hosts
            self.memoryLimit = memoryLimit
            self.recycleMemory = recycleMemory
            self.waitingPerApp = waitingPerApp
            self.executable = executable
        }
    }

    public nonisolated let loop: EventLoop
    private let configuration: Configuration
    private let logger: Logger
    private var idle: [FunctionHost] = []
    private var busy = 0
    private var waiting: [String: [Waiter]] = [:]
    /// Apps with waiting calls, the longest since its last turn first.
    private var turns: [String] = []
    private var isStopped = false

    private struct Waiter {
        let bundle: FunctionBundle
        let continuation: CheckedContinuation<FunctionHost, any Error>
    }

    private let callTimer = Timer(label: "functions_call_seconds", help: "Time from a function's call to its result.")
    private let failures = MetricFamily<Counter>(
        label: "functions_failures_total", help: "Function calls that gave no value, by code.", dimensions: ["code"])

    public init(configuration: Configuration = Configuration(), loop: EventLoop, logger: Logger) {
        self.configuration = configuration
        self.loop = loop
        self.logger = logger
    }

    /// Keeps hosts until a graceful shutdown, and ends them then.
    public func run() async throws {
        try? await gracefulShutdown()  // a cancellation ends it as well
        await stop()
    }

    /// Runs a function.
    /// - Throws: `FunctionFailure`; `CancellationError` when the pool is shut down.
    public func run(_ invocation: FunctionInvocation) async throws -> Value {
        do {
            return try await callTimer.measure {
                var attempts = 0
                while true {
                    attempts += 1
                    let host = try await lease(invocation.bundle)
                    do {
                        let value = try await host.call(invocation)
                        await giveBack(host)
                        return value
                    } catch {
                        // The host may have ended before the call came to it.
                        let mayRepeat = await host.hasLostUntouchedCall
                        await giveBack(host)
                        guard mayRepeat, attempts == 1 else { throw error }
                    }
                }
            }
        } catch let failure as FunctionFailure {
            failures[failure.code.rawValue].increment()
            throw failure
        }
    }

    /// Whether a source is JavaScript; nothing is run. `nil` when it is.
    public func check(_ source: FunctionBundle.Source) async throws -> FunctionFailure? {
        let host = try await lease(FunctionBundle(app: "", version: 0, functions: []))
        let failure = await host.check(source)
        await giveBack(host)
        return failure
    }

    /// No failure of the function's: who calls at the end of the process, calls again elsewhere.
    private static var stopped: CancellationError { CancellationError() }

    private func lease(_ bundle: FunctionBundle) async throws -> FunctionHost {
        guard !isStopped else { throw Self.stopped }
        do {
            if waiting.isEmpty, let host = try await available(for: bundle) { return host }
        } catch {
            await serveWaiting()  // the place is free again
            throw error
        }
        guard !isStopped else { throw Self.stopped }
        guard waiting[bundle.app, default: []].count < configuration.waitingPerApp else {
            throw FunctionFailure(code: .executionTimeLimitExceeded, message: "too many calls of this app are waiting")
        }
        return try await withCheckedThrowingContinuation { continuation in
            if waiting[bundle.app] == nil { turns.append(bundle.app) }
            waiting[bundle.app, default: []].append(Waiter(bundle: bundle, continuation: continuation))
        }
    }

    /// An idle host of the app, else a new one, where necessary in the place of another app's idle one.
    private func available(for bundle: FunctionBundle) async throws -> FunctionHost? {
        let match = { (host: FunctionHost) in host.bundle.app == bundle.app && host.bundle.version == bundle.version }
        while let index = idle.lastIndex(where: match) {
            busy += 1
            let host = idle.remove(at: index)
            if await host.isAlive() { return host }
            await host.stop()  // it ended while nobody needed it
            busy -= 1
        }
        guard busy < configuration.hosts else { return nil }
        busy += 1  // before the awaits: the place is taken
        if busy + idle.count > configuration.hosts {
            let replaced = idle.removeFirst()
            await replaced.stop()
        }
        do {
            let host = try FunctionHost(
                executable: configuration.executable, bundle: bundle, memoryLimit: configuration.memoryLimit, loop: loop
            )
            try await host.start()
            return host
        } catch {
            busy -= 1
            throw FunctionFailure(code: .hostLost, message: "\(error)")
        }
    }

    private func giveBack(_ host: FunctionHost) async {
        if await host.isUsable, await host.memory < configuration.recycleMemory, !isStopped {
            idle.append(host)
        } else {
            await host.stop()
        }
        busy -= 1
        await serveWaiting()
    }

    private func serveWaiting() async {
        while let app = turns.first, let waiter = waiting[app]?.first {
            // Taken out before the await, so that nobody else serves it.
            take(app)
            do {
                if let host = try await available(for: waiter.bundle) {
                    waiter.continuation.resume(returning: host)
                } else {
                    return putBack(app, waiter)
                }
            } catch {
                waiter.continuation.resume(throwing: error)
            }
        }
    }

    private func take(_ app: String) {
        turns.removeFirst()
        waiting[app]?.removeFirst()
        if waiting[app]?.isEmpty == true { waiting[app] = nil } else { turns.append(app) }
    }

    private func putBack(_ app: String, _ waiter: Waiter) {
        turns.removeAll { $0 == app }
        turns.insert(app, at: 0)
        waiting[app, default: []].insert(waiter, at: 0)
    }

    private func stop() async {
        isStopped = true
        for waiter in waiting.values.joined() {
            waiter.continuation.resume(throwing: Self.stopped)
        }
        waiting = [:]
        turns = []
        let hosts = idle
        idle = []
        for host in hosts { await host.stop() }
    }
}
