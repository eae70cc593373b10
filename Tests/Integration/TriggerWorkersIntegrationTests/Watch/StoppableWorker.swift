import Lifecycle
import Logging
import Metrics
import ServiceBootstrap
import TestSupport
import TriggerWorkers

/// A further trigger worker in this process, which a test stops as a signal would.
final class StoppableWorker: Sendable {
    let port: Int
    private let group: ServiceGroup
    private let running: Task<Void, any Error>

    init(_ values: [String: String]) async throws {
        let configuration = try Configuration(keys: TriggerWorkersServer.main.allKeys, fileValues: values)
        let (ports, listening) = AsyncStream.makeStream(of: Int.self)
        let group = ServiceGroup(
            services: [Worker(configuration: configuration) { listening.yield($0) }], logger: Logger(label: "test"))
        running = Task { try await group.run() }
        self.group = group
        var iterator = ports.makeAsyncIterator()
        guard let port = await iterator.next() else { throw CancellationError() }
        self.port = port
    }

    /// Stops it gracefully; returns when it has ended.
    func stop() async throws {
        group.triggerGracefulShutdown()
        try await running.value
    }

    private struct Worker: Service {
        let configuration: Configuration
        let listening: @Sendable (Int) -> Void

        func run() async throws {
            try await TriggerWorkersServer.main.run(configuration, registry: MetricsRegistry(), listening: listening) {
                try TriggerWorkersServer.make(&$0)
            }
        }
    }
}
