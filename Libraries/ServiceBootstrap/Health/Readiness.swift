import EventLoop

/// What a process needs to do its work, and whether it has it: the answer of `/health/ready`.
///
/// A component is either asked, by a check that is registered, or says itself how it is (`set`). A process is ready when
/// all of the components are that it can't work without.
public final class Readiness: Sendable {
    /// How one component is.
    public enum Status: Sendable, Equatable {
        /// It works.
        case ready
        /// It doesn't, and why. The reason is shown to whoever asks: no secrets.
        case notReady(String)
    }

    /// How all components are.
    public struct Report: Sendable, Equatable {
        /// The components by name, in order.
        public let components: [(name: String, status: Status, isRequired: Bool)]

        /// Whether all are ready that the process can't work without.
        public var isReady: Bool { components.allSatisfy { $0.status == .ready || !$0.isRequired } }
        /// Whether it works, but not all of it.
        public var isDegraded: Bool { isReady && components.contains { $0.status != .ready } }

        /// Whether both say the same.
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
        /// The report that is being made, or was made less than `age` ago.
        var latest: (task: Task<Report, Never>, since: ContinuousClock.Instant)?
        /// Checks that haven't ended: one that hangs isn't started again beside itself.
        var running: [String: Task<Status, Never>] = [:]
    }

    private let state = Locked(State())
    private let age: Duration
    private let limit: Duration

    /// Makes a list without components, which is ready.
    /// - Parameters:
    ///   - age: How long an answer of the checks is given again: many askers cost the engines nothing.
    ///   - limit: Time for a check; one that takes longer has failed.
    public init(age: Duration = .seconds(1), limit: Duration = .seconds(2)) {
        self.age = age
        self.limit = limit
    }

    /// Registers a component that is asked how it is. Replaces one of the same name.
    /// - Parameters:
    ///   - name: Such as `postgres`.
    ///   - isRequired: Without it the process can't do its work; otherwise it only shows.
    ///   - check: Returns when the component works; throws why it doesn't. It is cancelled when the time is over.
    public func add(_ name: String, isRequired: Bool = true, check: @escaping @Sendable () async throws -> Void) {
        state.withLock { state in
            state.components[name] = .asked(check, isRequired: isRequired)
            state.latest = nil
        }
    }

    /// Says how a component is. Registers it when it isn't yet; one that has a check keeps it, and this does nothing.
    public func set(_ name: String, _ status: Status) {
        state.withLock { state in
            if case .asked? = state.components[name] { return }
            state.components[name] = .told(status)
            state.latest = nil
        }
    }

    /// Asks all components, at the same time, or gives the answer that somebody else just got.
    public func report() async -> Report {
        let task = state.withLock { state -> Task<Report, Never> in
            let now = ContinuousClock.now
            if let latest = state.latest, now - latest.since < age { return latest.task }
            // A task of its own, bounded by the limit: it is shared by all who ask meanwhile, whoever of them leaves.
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

    /// What a check says within the limit, although it may go on: an engine that hangs must not make the answer hang.
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
            // Both end by themselves: the one with the check, the other with the limit.
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
