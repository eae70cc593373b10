import EmbeddedKafka
import EventStream

/// `partita broker`: the embedded development broker, which `up` starts when no other one is configured.
enum BrokerCommand {
    static let command = Command(
        name: "broker", summary: "Run the embedded development broker, which keeps its events in memory",
        options: [
            .init("port", value: "PORT", "the port that it listens on"),
            .init("pool", value: "NAME", "the pool whose topics it creates (default: main)"),
        ], isHidden: true
    ) { arguments in
        guard let port = try arguments.int("port", in: 1...65535) else { throw UsageError("--port is missing") }
        let signals = StopSignals()
        let broker = try EmbeddedBroker(port: UInt16(port))
        for topic in TopicOwner.topics(pool: arguments.value("pool") ?? "main", replicationFactor: 1) {
            try broker.createTopic(topic.name, partitions: topic.partitions)
        }
        await signals.wait()
        broker.close()
    }
}
