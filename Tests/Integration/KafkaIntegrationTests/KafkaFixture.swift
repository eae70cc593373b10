import EmbeddedKafka
import EventLoop
import EventTopics
import Foundation
import Kafka
import TestSupport

/// A broker for one test, and what the test opened on it.
struct KafkaFixture: Sendable {
    let configuration: KafkaConfiguration
    let loop: EventLoop
    let producer: KafkaProducer
    let admin: KafkaAdmin
    /// Of this test alone.
    let prefix: String
    /// Topics to be deleted at the end.
    let made = Locked<[String]>([])

    /// On Apache Kafka.
    static func real(
        options: KafkaProducerOptions = KafkaProducerOptions(), _ body: (KafkaFixture) async throws -> Void
    ) async throws {
        let bootstrap = try await TestEngines.shared().kafkaBootstrap
        try await run(KafkaConfiguration(bootstrapServers: bootstrap, clientID: "tests"), options, body)
    }

    /// On the embedded broker, in this process.
    static func embedded(
        options: KafkaProducerOptions = KafkaProducerOptions(), brokers: Int = 1,
        _ body: (KafkaFixture, EmbeddedBroker) async throws -> Void
    ) async throws {
        let broker = try EmbeddedBroker(brokers: brokers)
        defer { broker.close() }
        let configuration = KafkaConfiguration(
            bootstrapServers: broker.bootstrapServers, clientID: "tests", embedded: true)
        try await run(configuration, options) { try await body($0, broker) }
    }

    private static func run(
        _ configuration: KafkaConfiguration, _ options: KafkaProducerOptions,
        _ body: (KafkaFixture) async throws -> Void
    ) async throws {
        let loop = EventLoop(name: "kafka-test")
        let fixture = KafkaFixture(
            configuration: configuration, loop: loop,
            producer: KafkaProducer(configuration: configuration, options: options, loop: loop),
            admin: KafkaAdmin(configuration: configuration),
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
        made.withLock { $0.append(topic.name) }
        try await admin.createTopics([topic])
        return topic.name
    }

    /// A pool with these topics of it; few partitions, since real ones take the broker's time.
    func pool(_ contracts: TopicContract..., partitions: Int = 3) async throws -> String {
        let pool = prefix
        let topics = contracts.map { KafkaTopic(name: $0.fullName(pool: pool), partitions: partitions) }
        made.withLock { $0 += topics.map(\.name) }
        try await admin.createTopics(topics)
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
    /// Reads until `count` messages have come.
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
