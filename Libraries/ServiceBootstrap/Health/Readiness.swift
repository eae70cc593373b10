import EventLoop

/// What a process needs to do its work, and whether it has it: the answer of `/health/ready`.
///
/// A component is either asked, by a check that is registered, or says itself how it is (`set`). A process is ready when
/// all of its components are.
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
        public let components: [(name: String, status: Status)]

        /// Whether all of them are ready.
        public var isReady: Bool { components.allSatisfy { $0.status == .ready } }

        /// Whether both say the same.
        public static func == (left: Report, right: Report) -> Bool {
            left.components.elementsEqual(right.components, by: ==)
        }
    }

    private enum Component: Sendable {
        case asked(@Sendable () async throws -> Void)
        case told(Status)
    }

    private struct State {
        var components: [String: Component] = [:]
        /// The report that is being made, or was made less than `age` ago.
        var latest: (task: Task<Report, Never>, since: ContinuousClock.Instant)?
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
    ///   - check: Returns when the component works; throws why it doesn't. Must react to cancellation.
    public func add(_ name: String, check: @escaping @Sendable () async throws -> Void) {
        state.withLock { state in
            state.components[name] = .asked(check)
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
            let task = Task { [components = state.components, limit] in await Self.ask(components, limit) }
            state.latest = (task, now)
            return task
        }
        return await task.value
    }

    private static func ask(_ components: [String: Component], _ limit: Duration) async -> Report {
        await withTaskGroup(of: (name: String, status: Status).self) { group in
            for (name, component) in components {
                switch component {
                case .told(let status): group.addTask { (name, status) }
                case .asked(let check):
                    group.addTask {
                        do {
                            try await withTimeout(limit, check)
                            return (name, .ready)
                        } catch {
                            return (name, .notReady("\(error)"))
                        }
                    }
                }
            }
            var results: [(name: String, status: Status)] = []
            for await result in group { results.append(result) }
            return Report(components: results.sorted { $0.name < $1.name })
        }
    }
}
