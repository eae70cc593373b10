import EventLoop
import Logging

/// Runs services together: starts them in order, and shuts them down gracefully, usually one after the other in reverse order.
///
/// The shutdown begins with a signal, with `triggerGracefulShutdown()`, with the graceful shutdown of an enclosing group, or when a
/// service throws or returns early. Unless they end together, each service is asked to end only after the services behind it in the
/// list have ended, so it may rely on those before it until its end. Services that still run at the deadline are cancelled; a second
/// signal cancels all immediately.
public final class ServiceGroup: Service, CustomStringConvertible {
    /// In which order a shutdown asks services to end.
    public enum EndOrder: Sendable {
        /// One after the other, the last one first.
        case reversed
        /// All at once: for services that don't use each other and have to finish their work, so that the times for it don't add up.
        case together
    }

    private enum Phase { case idle, running, finished }

    private let services: [any Service]
    private let order: EndOrder
    private let signals: [UnixSignal]
    private let maximumGracefulShutdownDuration: Duration
    private let maximumCancellationDuration: Duration?
    private let logger: Logger
    private let phase = Locked(Phase.idle)
    private let trigger = GracefulShutdownManager()

    /// Creates a group that runs nothing yet.
    /// - Parameters:
    ///   - services: The services in the order of their start; a service must be behind those that it uses.
    ///   - order: In which order a shutdown asks them to end.
    ///   - gracefulShutdownSignals: The first of them begins the shutdown, a second one cancels the services that still run.
    ///   - maximumGracefulShutdownDuration: The time limit for all services together, from the start of the shutdown.
    ///   - maximumCancellationDuration: The time limit for cancelled services to end. Afterwards the process exits with status 70
    ///     and logs the services that still ran. `nil` waits forever.
    ///   - logger: Logs the start and end of services, and the reasons.
    public init(
        services: [any Service], ending order: EndOrder = .reversed, gracefulShutdownSignals: [UnixSignal] = [],
        maximumGracefulShutdownDuration: Duration = .seconds(30), maximumCancellationDuration: Duration? = nil,
        logger: Logger
    ) {
        self.services = services
        self.order = order
        self.signals = gracefulShutdownSignals
        self.maximumGracefulShutdownDuration = maximumGracefulShutdownDuration
        self.maximumCancellationDuration = maximumCancellationDuration
        self.logger = logger
    }

    /// The group's name in the log of an enclosing group.
    public var description: String { "ServiceGroup(\(services.map(name).joined(separator: ", ")))" }

    /// Begins the shutdown. Returns immediately; `run()` returns when the services have ended. If the group doesn't run yet, it
    /// ends right after its start.
    public func triggerGracefulShutdown() { trigger.shutDownGracefully() }

    /// Runs all services to their end.
    /// - Throws: The first error of a service; `ServiceGroupError` when one returned early or the deadline passed.
    ///   Returns normally after a shutdown in which every service ended without an error.
    public func run() async throws {
        try phase.withLock { phase in
            switch phase {
            case .idle: phase = .running
            case .running: throw ServiceGroupError(code: .alreadyRunning, message: "the group runs already")
            case .finished: throw ServiceGroupError(code: .alreadyFinished, message: "the group has run already")
            }
        }
        defer { phase.withLock { $0 = .finished } }
        let signals = UnixSignalSequence(signals) { [logger] in logger.debug("watching for signals") }
        defer { signals.close() }
        try await withGracefulShutdownHandler {
            try await supervise(signals)
        } onGracefulShutdown: {
            self.triggerGracefulShutdown()
        }
    }

    private enum Event: Sendable {
        case ended(Int, (any Error)?)
        case signal(UnixSignal)
        case shutdownTriggered
        case deadline
        case watcherEnded
    }

    private func supervise(_ signals: UnixSignalSequence) async throws {
        let managers = services.map { _ in GracefulShutdownManager() }
        let names = services.map(name)
        var state = ServiceGroupState(count: services.count, order: order)
        let stillRunning = Locked(names)
        var exitTimer: Task<Void, Never>?
        defer { exitTimer?.cancel() }
        await withTaskGroup(of: Event.self) { group in
            for (index, service) in services.enumerated() {
                logger.debug("starting service", metadata: ["service": "\(names[index])"])
                group.addTask {
                    await GracefulShutdownManager.$current.withValue(managers[index]) {
                        do {
                            try await service.run()
                            return .ended(index, nil)
                        } catch {
                            return .ended(index, error)
                        }
                    }
                }
            }
            group.addTask { await signals.next().map(Event.signal) ?? .watcherEnded }
            group.addTask { [trigger] in
                await GracefulShutdownManager.$current.withValue(trigger) {
                    do { try await gracefulShutdown() } catch { return .watcherEnded }
                    return .shutdownTriggered
                }
            }
            while !state.isFinished, let event = await group.next() {
                let wasShuttingDown = state.isShuttingDown
                var actions: [ServiceGroupState.Action]
                switch event {
                case .ended(let index, let error):
                    if Task.isCancelled, !state.isCancelled {
                        let running = state.running.map { names[$0] }
                        logger.notice(
                            "cancelled while services ran", metadata: ["services": .array(running.map { .string($0) })])
                    }
                    logEnd(names[index], error, wasAsked: state.wasAsked(index) || Task.isCancelled)
                    actions = state.ended(index, error, name: names[index], isCancelled: Task.isCancelled)
                    stillRunning.withLock { [running = state.running.map { names[$0] }] in $0 = running }
                case .signal(let signal):
                    logger.notice(
                        wasShuttingDown ? "cancelling after another signal" : "shutting down after a signal",
                        metadata: ["signal": "\(signal)"])
                    group.addTask { await signals.next().map(Event.signal) ?? .watcherEnded }
                    actions = wasShuttingDown ? state.cancel() : state.shutDown()
                case .shutdownTriggered: actions = state.shutDown()
                case .deadline:
                    let running = state.running.map { names[$0] }
                    logger.error(
                        "graceful shutdown took too long, cancelling",
                        metadata: ["services": .array(running.map { .string($0) })])
                    actions = state.deadlinePassed(names: names, limit: maximumGracefulShutdownDuration)
                case .watcherEnded: actions = []
                }
                if !wasShuttingDown, state.isShuttingDown {
                    group.addTask { [maximumGracefulShutdownDuration] in
                        do { try await Task.sleep(for: maximumGracefulShutdownDuration) } catch { return .watcherEnded }
                        return .deadline
                    }
                }
                while let action = actions.popLast() {
                    switch action {
                    case .askToEnd(let index):
                        logger.debug("asking service to end", metadata: ["service": "\(names[index])"])
                        managers[index].shutDownGracefully()
                    case .cancelAll:
                        exitTimer = exitUnlessEnded(stillRunning)
                        group.cancelAll()
                    }
                }
            }
            group.cancelAll()
        }
        if let error = state.error { throw error }
        try Task.checkCancellation()
    }

    private func logEnd(_ name: String, _ error: (any Error)?, wasAsked: Bool) {
        var metadata: Logger.Metadata = ["service": "\(name)"]
        if let error, !(wasAsked && error is CancellationError) {
            metadata["error"] = "\(error)"
            logger.error("service failed", metadata: metadata)
        } else if wasAsked {
            logger.debug("service ended", metadata: metadata)
        } else {
            logger.error("service ended without being asked to", metadata: metadata)
        }
    }

    /// A task outside of the group, because it has to outlast the group's tasks, which are all cancelled by then. `supervise`
    /// cancels it when they have ended.
    private func exitUnlessEnded(_ stillRunning: Locked<[String]>) -> Task<Void, Never>? {
        guard let maximumCancellationDuration else { return nil }
        return Task.detached { [logger] in
            do { try await Task.sleep(for: maximumCancellationDuration) } catch { return }
            logger.critical(
                "services ignored the cancellation, exiting",
                metadata: ["services": .array(stillRunning.withLock { $0 }.map { .string($0) })])
            ProcessExit.now(70)
        }
    }

    private func name(_ service: any Service) -> String {
        (service as? any CustomStringConvertible)?.description ?? String(describing: type(of: service))
    }
}
