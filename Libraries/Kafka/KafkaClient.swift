import EventLoop
import Logging

/// A process's client of its brokers, shared by its readers without a group and its `KafkaAdmin`.
///
/// Each client of librdkafka has threads of its own, sends a fetch to every broker once or twice a second, and looks for a group's
/// coordinator. One client that reads ten topics costs as much as each of ten clients would, so a process has only one. A slow
/// reader doesn't delay the others: each has a queue of its own, and a partition whose queue is full isn't fetched.
public final class KafkaClient: Sendable {
    public let configuration: KafkaConfiguration
    private let logger: Logger
    private let state = Locked(State.idle)

    private enum State {
        case idle
        case open(RDKafkaSharedClient)
        case closed
    }

    /// Creates the client; it connects when it is first used.
    public init(configuration: KafkaConfiguration, logger: Logger = Logger(label: "kafka.client")) {
        self.configuration = configuration
        self.logger = logger
    }

    /// Closes the client; later uses throw `closed`. Consumers that still read keep the connection until they close as well.
    public func close() async {
        let last = state.withLock { state in
            defer { state = .closed }
            return state
        }
        if case .open(let native) = last { await native.end() }
    }

    func native() throws(KafkaError) -> RDKafkaSharedClient {
        let result = state.withLock { state -> Result<RDKafkaSharedClient, KafkaError> in
            switch state {
            case .open(let native): return .success(native)
            case .closed: return .failure(KafkaError(.closed, "the client is closed"))
            case .idle:
                // Readers recognize by the ends of partitions that they have caught up; those that don't need them ignore them.
                let options = KafkaConsumerOptions(reportsEnds: true)
                do throws(KafkaError) {
                    let native = try RDKafkaSharedClient(
                        settings: options.settings(for: configuration), plain: configuration.settings([:]),
                        logger: configuration.logger(logger))
                    state = .open(native)
                    return .success(native)
                } catch {
                    return .failure(error)
                }
            }
        }
        return try result.get()
    }
}
