private import CEmbeddedBroker
private import Crdkafka
import EventLoop
import Kafka

/// librdkafka's mock cluster as a broker for development and for tests of faults: in memory, on the loopback interface.
///
/// Its limits: all data is lost when it ends; a partition keeps about 5 MiB, then its oldest messages are dropped; there is no
/// retention, no compaction, no admin API and no access control; transactions are accepted but have no effect; joining a group
/// takes three seconds. Durability is tested on Apache Kafka only.
public final class EmbeddedBroker: Sendable {
    /// The mock cluster; `@unchecked`: librdkafka locks it inside.
    private struct Cluster: @unchecked Sendable {
        let client: OpaquePointer
        let cluster: OpaquePointer
    }

    /// `host:port` of every broker, separated by commas.
    public let bootstrapServers: String
    private let cluster: Cluster
    private let isClosed = Locked(false)

    /// Starts listening.
    /// - Parameters:
    ///   - port: the first broker's port; the others have the following ones. It must be outside of the kernel's range for outgoing
    ///     connections, because librdkafka aborts the process when a restarting broker finds its port taken.
    ///   - brokers: the number of brokers, at least 1.
    /// - Throws: `KafkaError` with code `configuration` when the port is taken.
    public init(port: UInt16, brokers: Int = 1) throws(KafkaError) {
        guard let configuration = rd_kafka_conf_new() else { throw KafkaError(.configuration, "out of memory") }
        var text = [CChar](repeating: 0, count: 512)
        rd_kafka_conf_set(configuration, "client.id", "embedded-broker", &text, text.count)
        // Otherwise every closed connection of a client would cause a line on stderr.
        rd_kafka_conf_set(configuration, "log_level", "2", &text, text.count)
        guard let client = rd_kafka_new(RD_KAFKA_PRODUCER, configuration, &text, text.count) else {
            rd_kafka_conf_destroy(configuration)
            throw KafkaError(
                .configuration, String(decoding: text.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self))
        }
        for taken in 0..<Int32(brokers) where cembedded_port_is_free(Int32(port) + taken) == 0 {
            rd_kafka_destroy(client)
            throw KafkaError(
                .configuration,
                "the embedded broker can't listen on 127.0.0.1:\(Int32(port) + taken): is the port in use?")
        }
        cembedded_fix_ports(Int32(port))
        let made = rd_kafka_mock_cluster_new(client, Int32(clamping: brokers))
        cembedded_fix_ports(0)
        guard let made else {
            rd_kafka_destroy(client)
            throw KafkaError(
                .configuration, "the embedded broker can't listen on 127.0.0.1:\(port): is the port in use?")
        }
        cluster = Cluster(client: client, cluster: made)
        bootstrapServers = String(cString: rd_kafka_mock_cluster_bootstraps(made))
    }

    /// Creates a topic with this number of partitions; a topic that is created by a client's first use has four.
    /// - Throws: `KafkaError` when it exists already.
    public func createTopic(_ name: String, partitions: Int, replicationFactor: Int = 1) throws(KafkaError) {
        let error = rd_kafka_mock_topic_create(
            cluster.cluster, name, Int32(clamping: partitions), Int32(clamping: replicationFactor))
        try check(error, "create \(name)")
    }

    /// Ends the broker and all connections; all its data is lost.
    public func close() {
        guard
            isClosed.withLock({ closed in
                defer { closed = true }; return !closed
            })
        else { return }
        rd_kafka_mock_cluster_destroy(cluster.cluster)
        rd_kafka_destroy(cluster.client)
    }

    deinit { close() }

    // MARK: Faults

    /// A request of Kafka's protocol, by its number there.
    public enum Request: Int16, Sendable {
        case produce = 0
        case fetch = 1
        case listOffsets = 2
        case metadata = 3
        case offsetCommit = 8
        case offsetFetch = 9
        case findCoordinator = 10
        case joinGroup = 11
        case heartbeat = 12
        case initProducerID = 22
    }

    /// Answers the next requests of a kind with an error of Kafka's protocol, or by cutting the connection (-195).
    public func fail(_ request: Request, with nativeCode: Int32, times: Int = 1) {
        let errors = [rd_kafka_resp_err_t](repeating: rd_kafka_resp_err_t(rawValue: nativeCode), count: times)
        rd_kafka_mock_push_request_errors_array(cluster.cluster, request.rawValue, times, errors)
    }

    /// Answers metadata requests for a topic with an error of Kafka's protocol; 3 means that it doesn't exist. Without this, such a
    /// request creates the topic.
    public func failTopic(_ name: String, with nativeCode: Int32) {
        rd_kafka_mock_topic_set_error(cluster.cluster, name, rd_kafka_resp_err_t(rawValue: nativeCode))
    }

    /// Cuts a broker's connections and refuses new ones, or accepts them again. Brokers are numbered from 1.
    public func setDown(_ isDown: Bool, broker: Int32 = 1) throws(KafkaError) {
        let error =
            isDown
            ? rd_kafka_mock_broker_set_down(cluster.cluster, broker)
            : rd_kafka_mock_broker_set_up(cluster.cluster, broker)
        try check(error, "broker \(broker)")
    }

    /// Delays a broker's answers.
    public func setRoundTrip(_ duration: Duration, broker: Int32 = 1) throws(KafkaError) {
        // The patch that ends waits of fetches would also end this delay.
        cembedded_wake_fetches(duration > .zero ? 0 : 1)
        let (seconds, attoseconds) = duration.components
        let milliseconds = Int32(clamping: seconds * 1000 + attoseconds / 1_000_000_000_000_000)
        try check(rd_kafka_mock_broker_set_rtt(cluster.cluster, broker, milliseconds), "broker \(broker)")
    }

    private func check(_ error: rd_kafka_resp_err_t, _ context: String) throws(KafkaError) {
        guard error != RD_KAFKA_RESP_ERR_NO_ERROR else { return }
        throw KafkaError(.broker, "\(context): \(String(cString: rd_kafka_err2str(error)))", nativeCode: error.rawValue)
    }
}
