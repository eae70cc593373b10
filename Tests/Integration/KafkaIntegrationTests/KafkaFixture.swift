import EmbeddedKafka
import EventLoop
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

    /// On Apache Kafka.
    static func real<R>(
        options: KafkaProducerOptions = KafkaProducerOptions(), _ body: (KafkaFixture) async throws -> R
    ) async throws -> R {
        let bootstrap = try await TestEngines.shared().kafkaBootstrap
        return try await run(KafkaConfiguration(bootstrapServers: bootstrap, clientID: "tests"), options, body)
    }

    /// On the embedded broker, in this process.
    static func embedded<R>(
        options: KafkaProducerOptions = KafkaProducerOptions(), brokers: Int = 1,
        _ body: (KafkaFixture, EmbeddedBroker) async throws -> R
    ) async throws -> R {
        let broker = try EmbeddedBroker(brokers: brokers)
        defer { broker.close() }
        let configuration = KafkaConfiguration(
            bootstrapServers: broker.bootstrapServers, clientID: "tests", embedded: true)
        return try await run(configuration, options) { try await body($0, broker) }
    }

    private static func run<R>(
        _ configuration: KafkaConfiguration, _ options: KafkaProducerOptions, _ body: (KafkaFixture) async throws -> R
    ) async throws -> R {
        let loop = EventLoop(name: "kafka-test")
        let fixture = KafkaFixture(
            configuration: configuration, loop: loop,
            producer: KafkaProducer(configuration: configuration, options: options, loop: loop),
            admin: KafkaAdmin(configuration: configuration),
            prefix: "test-\(UUID().uuidString.prefix(8).lowercased())")
        let result: Result<R, any Error>
        do { result = .success(try await body(fixture)) } catch { result = .failure(error) }
        await fixture.producer.close(deadline: .seconds(1))
        await fixture.admin.close()
        loop.stop()
        return try result.get()
    }

    func topic(_ name: String = "t", partitions: Int = 4) async throws -> String {
        let topic = KafkaTopic(name: "\(prefix).\(name)", partitions: partitions)
        try await admin.createTopics([topic])
        return topic.name
    }

    func withConsumer<R>(
        _ options: KafkaConsumerOptions = KafkaConsumerOptions(), _ body: (KafkaConsumer) async throws -> R
    ) async throws -> R {
        let consumer = try KafkaConsumer(configuration: configuration, options: options)
        let result: Result<R, any Error>
        do { result = .success(try await body(consumer)) } catch { result = .failure(error) }
        await consumer.close()
        return try result.get()
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
