import EventLoop

/// The components that a process needs for its work, and whether they are ready: the answer of `/health/ready`.
///
/// The status of a component either comes from a registered check or is set by the component (`set`). A process is ready when all
/// required components are.
public final class Readiness: Sendable {
    /// The status of one component.
    public enum Status: Sendable, Equatable {
        /// It works.
        case ready
        /// It doesn't work, with the reason. The reason is shown to every client: it must not contain secrets.
        case notReady(String)
    }

    /// The status of all components.
    public struct Report: Sendable, Equatable {
        /// The components, sorted by name.
        public let components: [(name: String, status: Status, isRequired: Bool)]

        /// Whether all required components are ready.
        public var isReady: Bool { components.allSatisfy { $0.status == .ready || !$0.isRequired } }
        /// Whether all required components are ready, but another one isn't.
        public var isDegraded: Bool { isReady && components.contains { $0.status != .ready } }

        /// Whether both have the same components with the same status.
        public static func == (left: Report, right: Report) -> Bool {
            left.components.elementsEqual(right.components, by: ==)
        }
    }

    private enum Component: Sendable {
        case asked(@Sendable () async throws -> Void, isRequired: Bool)
        case told(Status)
    }

    private struct State {
        var components: [String: Component] = [:]
        /// The report that is in progress, or that was started less than `age` ago.
        var latest: (task: Task<Report, Never>, since: ContinuousClock.Instant)?
        /// Checks that haven't ended: one that hangs isn't started a second time.
        var running: [String: Task<Status, Never>] = [:]
    }

    private let state = Locked(State())
    private let age: Duration
    private let limit: Duration

    /// Makes a `Readiness` without components, which is ready.
    /// - Parameters:
    ///   - age: How long a report is reused, so that frequent requests don't burden the engines.
    ///   - limit: The time limit of a check; one that takes longer counts as failed.
    public init(age: Duration = .seconds(1), limit: Duration = .seconds(2)) {
        self.age = age
        self.limit = limit
    }

    /// Registers a component with a check. Replaces a component of the same name.
    /// - Parameters:
    ///   - name: The component's name, such as `postgres`.
    ///   - isRequired: Whether the process can't work without it; otherwise it only makes the report `degraded`.
    ///   - check: Returns when the component works; throws the reason when it doesn't. It is cancelled after the time limit.
    public func add(_ name: String, isRequired: Bool = true, check: @escaping @Sendable () async throws -> Void) {
        state.withLock { state in
            state.components[name] = .asked(check, isRequired: isRequired)
            state.latest = nil
        }
    }

    /// Sets the status of a component, and registers it if necessary. Does nothing when the component has a check.
    public func set(_ name: String, _ status: Status) {
        state.withLock { state in
            if case .asked? = state.components[name] { return }
            state.components[name] = .told(status)
            state.latest = nil
        }
    }

    /// Runs all checks concurrently, or returns a report of another caller that is younger than `age`.
    public func report() async -> Report {
        let task = state.withLock { state -> Task<Report, Never> in
            let now = ContinuousClock.now
            if let latest = state.latest, now - latest.since < age { return latest.task }
            // An unstructured task, bounded by the time limit. All concurrent callers share it, so that it must survive the
            // cancellation of any of them.
            let task = Task { [components = state.components] in await ask(components) }
            state.latest = (task, now)
            return task
        }
        return await task.value
    }

    private func ask(_ components: [String: Component]) async -> Report {
        await withTaskGroup(of: (name: String, status: Status, isRequired: Bool).self) { group in
            for (name, component) in components {
                switch component {
                case .told(let status): group.addTask { (name, status, true) }
                case .asked(let check, let isRequired):
                    group.addTask { (name, await self.ask(name, check), isRequired) }
                }
            }
            var results: [(name: String, status: Status, isRequired: Bool)] = []
            for await result in group { results.append(result) }
            return Report(components: results.sorted { $0.name < $1.name })
        }
    }

    /// The result of a check within the time limit, even if the check continues: an engine that hangs must not make the report
    /// hang.
    private func ask(_ name: String, _ check: @escaping @Sendable () async throws -> Void) async -> Status {
        let running = state.withLock { state in
            if let running = state.running[name] { return running }
            let task = Task {
                var status = Status.ready
                do { try await check() } catch { status = .notReady("\(error)") }
                self.state.withLock { $0.running[name] = nil }
                return status
            }
            state.running[name] = task
            return task
        }
        return await withCheckedContinuation { continuation in
            let asker = Locked(Optional(continuation))
            let answer: @Sendable (Status) -> Void = { status in
                let asker = asker.withLock { asker in
                    defer { asker = nil }
                    return asker
                }
                asker?.resume(returning: status)
            }
            // Both tasks end by themselves: one with the check, the other after the time limit.
            let timer = Task { [limit] in
                guard (try? await Task.sleep(for: limit)) != nil else { return }  // cancelled: the check was faster
                running.cancel()
                answer(.notReady("no answer within \(limit)"))
            }
            Task {
                answer(await running.value)
                timer.cancel()
            }
        }
    }
}
