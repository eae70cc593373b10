import EmbeddedKafka
import EventLoop
import EventTopics
import Foundation
import Kafka
import LocalEngines
import TestSupport

/// A broker for one test, and what the test opened on it.
struct KafkaFixture: Sendable {
    let configuration: KafkaConfiguration
    /// The embedded one, unless the run has Apache Kafka.
    let broker: EmbeddedBroker?
    let loop: EventLoop
    let producer: KafkaProducer
    /// The client of `admin` and of readers.
    let client: KafkaClient
    let admin: KafkaAdmin
    /// A prefix for this test alone.
    let prefix: String
    /// Topics to be deleted at the end.
    let made = Locked<[String]>([])

    /// Uses the broker of the run; an embedded one is this test's own, since only its host can create topics.
    static func with(
        options: KafkaProducerOptions = KafkaProducerOptions(), _ body: (KafkaFixture) async throws -> Void
    ) async throws {
        guard RealBroker.isThere else {
            return try await embedded(options: options) { kafka, _ in try await body(kafka) }
        }
        try await run(try await TestEngines.shared().kafka, nil, options, body)
    }

    /// Uses the embedded broker or that of the run.
    static func with(_ isEmbedded: Bool, _ body: (KafkaFixture) async throws -> Void) async throws {
        if isEmbedded {
            try await embedded { kafka, _ in try await body(kafka) }
        } else {
            try await with(body)
        }
    }

    /// Uses the embedded broker in this process, whose faults the test can choose.
    static func embedded(
        options: KafkaProducerOptions = KafkaProducerOptions(), brokers: Int = 1,
        _ body: (KafkaFixture, EmbeddedBroker) async throws -> Void
    ) async throws {
        let broker = try EmbeddedBroker(port: UInt16(try LocalPort.free(brokers)), brokers: brokers)
        defer { broker.close() }
        let configuration = KafkaConfiguration(
            bootstrapServers: broker.bootstrapServers, clientID: "tests", embedded: true)
        try await run(configuration, broker, options) { try await body($0, broker) }
    }

    private static func run(
        _ configuration: KafkaConfiguration, _ broker: EmbeddedBroker?, _ options: KafkaProducerOptions,
        _ body: (KafkaFixture) async throws -> Void
    ) async throws {
        let loop = EventLoop(name: "kafka-test")
        let client = KafkaClient(configuration: configuration)
        let fixture = KafkaFixture(
            configuration: configuration, broker: broker, loop: loop,
            producer: KafkaProducer(configuration: configuration, options: options, loop: loop),
            client: client, admin: KafkaAdmin(client: client),
            prefix: "test-\(UUID().uuidString.prefix(8).lowercased())")
        let result: Result<Void, any Error>
        do { result = .success(try await body(fixture)) } catch { result = .failure(error) }
        await fixture.producer.close(deadline: .seconds(1))
        try await fixture.admin.deleteTopics(fixture.made.withLock { $0 })
        await fixture.admin.close()
        loop.stop()
        try result.get()
    }

    func topic(_ name: String = "t", partitions: Int = 4) async throws -> String {
        let topic = KafkaTopic(name: "\(prefix).\(name)", partitions: partitions)
        try await create([topic])
        return topic.name
    }

    private func create(_ topics: [KafkaTopic]) async throws {
        made.withLock { $0 += topics.map(\.name) }
        for topic in topics { try broker?.createTopic(topic.name, partitions: topic.partitions) }
        try await admin.createTopics(topics)
    }

    /// The session timeout of a member: the shortest that the broker allows.
    var sessionTimeout: Duration { configuration.embedded ? .seconds(6) : .seconds(3) }

    /// A pool with these topics, with few partitions, since real ones take the broker time.
    func pool(_ contracts: TopicContract..., partitions: Int = 3) async throws -> String {
        let pool = prefix
        try await create(contracts.map { KafkaTopic(name: $0.fullName(pool: pool), partitions: partitions) })
        return pool
    }

    func withConsumer(
        _ options: KafkaConsumerOptions = KafkaConsumerOptions(), _ body: (KafkaConsumer) async throws -> Void
    ) async throws {
        let consumer = try KafkaConsumer(configuration: configuration, options: options)
        let result: Result<Void, any Error>
        do { result = .success(try await body(consumer)) } catch { result = .failure(error) }
        await consumer.close()
        try result.get()
    }
}

extension KafkaConsumer {
    /// Reads until `count` messages have arrived.
    nonisolated func read(_ count: Int, within deadline: Duration = .seconds(20)) async throws -> [KafkaMessage] {
        var messages: [KafkaMessage] = []
        try await eventually("\(count) messages", within: deadline) {
            messages += try await next(timeout: .milliseconds(100)).messages
            return messages.count >= count
        }
        return messages
    }
}

func text(_ bytes: [UInt8]?) -> String? { bytes.map { String(decoding: $0, as: UTF8.self) } }
