import EventTopics
import TestSupport
import Testing

@testable import Kafka

@Suite struct ProducerTests {
    @Test func `a message arrives with its key, headers and time`() async throws {
        try await KafkaFixture.with { kafka in
            let topic = try await kafka.topic()
            var headers: KafkaHeaders = ["ce_id": "1", "ce_type": "test"]
            headers.append("null", [UInt8]?.none)
            headers.append("ce_id", "2")
            let delivery = try await kafka.producer.send(
                KafkaRecord(
                    topic: topic, partition: 2, key: Array("k".utf8), value: Array("v".utf8), headers: headers,
                    timestamp: 1_700_000_000_000))
            #expect(delivery.partition == 2)
            try await kafka.withConsumer { consumer in
                let partition = KafkaTopicPartition(topic: topic, partition: 2)
                try await consumer.assign([partition: .beginning])
                let message = try await consumer.read(1)[0]
                #expect(message.topicPartition == partition)
                #expect(message.offset == delivery.offset)
                #expect(text(message.key) == "k")
                #expect(text(message.value) == "v")
                #expect(message.timestamp == 1_700_000_000_000)
                #expect(message.headers["ce_id"] == "2")
                #expect(message.headers["ce_type"] == "test")
                #expect(message.headers["null"] == nil)
                #expect(message.headers.all.map(\.name) == ["ce_id", "ce_type", "null", "ce_id"])
            }
        }
    }

    @Test func `a batch keeps its order per key, and keys are placed as the contract says`() async throws {
        try await KafkaFixture.with { kafka in
            let topic = try await kafka.topic(partitions: 5)
            let records = (0..<2000).map { number in
                KafkaRecord(topic: topic, key: Array("key-\(number % 7)".utf8), value: Array("\(number)".utf8))
            }
            let outcome = try await kafka.producer.sendBatch(records)
            try outcome.requireAll()
            for (record, delivery) in zip(records, outcome.deliveries) {
                #expect(delivery?.partition == EventKey.partition(of: try #require(record.key), count: 5))
            }
            try await kafka.withConsumer { consumer in
                try await consumer.assign(
                    Dictionary(
                        uniqueKeysWithValues: (0..<5).map {
                            (KafkaTopicPartition(topic: topic, partition: $0), .beginning)
                        }))
                var last: [String: Int] = [:]
                for message in try await consumer.read(2000) {
                    let key = try #require(text(message.key))
                    let number = try #require(text(message.value).flatMap { Int($0) })
                    #expect(number > last[key, default: -1])
                    last[key] = number
                }
            }
        }
    }

    @Test func `a full queue makes senders wait, and drops nothing`() async throws {
        try await KafkaFixture.embedded(options: KafkaProducerOptions(queueLimit: 10)) { kafka, broker in
            let topic = try await kafka.topic()
            try broker.setDown(true)
            async let first = kafka.producer.sendBatch(
                (0..<25).map { KafkaRecord(topic: topic, partition: 0, value: Array("\($0)".utf8)) })
            try await eventually("the first batch waits") { await kafka.producer.unacknowledged == 25 }
            async let second = kafka.producer.send(KafkaRecord(topic: topic, partition: 0, value: Array("25".utf8)))
            try await eventually("the second waits behind it") { await kafka.producer.unacknowledged == 26 }
            try broker.setDown(false)
            try await first.requireAll()
            #expect(try await second.offset == 25)
            try await kafka.withConsumer { consumer in
                try await consumer.assign([KafkaTopicPartition(topic: topic, partition: 0): .beginning])
                #expect(try await consumer.read(26).map { text($0.value) } == (0..<26).map { "\($0)" })
            }
        }
    }

    @Test func `a message not acknowledged in time fails with a retryable error`() async throws {
        let options = KafkaProducerOptions(deliveryTimeout: .milliseconds(1200))
        try await KafkaFixture.embedded(options: options) { kafka, broker in
            let topic = try await kafka.topic()
            try broker.setDown(true)
            let error = await #expect(throws: KafkaError.self) {
                try await kafka.producer.send(KafkaRecord(topic: topic, value: [1]))
            }
            #expect(error?.code == .timedOut)
            #expect(error?.isRetriable == true)
        }
    }

    @Test func `transient errors are retried without the caller noticing`() async throws {
        try await KafkaFixture.embedded { kafka, broker in
            let topic = try await kafka.topic()
            for code: Int32 in [6, 7, -195] {  // not leader, timed out, connection cut
                broker.fail(.produce, with: code, times: 2)
                try await kafka.producer.send(KafkaRecord(topic: topic, partition: 0, value: [UInt8(1)]))
            }
        }
    }

    @Test func `a message above the limit fails alone`() async throws {
        try await KafkaFixture.with(options: KafkaProducerOptions(messageBytes: 2000)) { kafka in
            let topic = try await kafka.topic()
            let outcome = try await kafka.producer.sendBatch([
                KafkaRecord(topic: topic, value: [1]),
                KafkaRecord(topic: topic, value: [UInt8](repeating: 7, count: 3000)),
                KafkaRecord(topic: topic, value: [2]),
            ])
            #expect(outcome.deliveries.map { $0 != nil } == [true, false, true])
            #expect(outcome.failures.map(\.index) == [1])
            #expect(outcome.failures[0].error.code == .messageTooLarge)
            #expect(!outcome.failures[0].error.isRetriable)
        }
    }

    @Test func `a topic that does not exist is an error, not a wait`() async throws {
        try await KafkaFixture.with(options: KafkaProducerOptions(deliveryTimeout: .seconds(10))) { kafka in
            let topic = "\(kafka.prefix).nowhere"
            kafka.broker?.failTopic(topic, with: 3)
            let error = await #expect(throws: KafkaError.self) {
                try await kafka.producer.send(KafkaRecord(topic: topic, value: [1]))
            }
            #expect(error?.code == .unknownTopic)
        }
    }

    @Test func `a fatal error fails what is in flight and rebuilds the producer`() async throws {
        try await KafkaFixture.embedded { kafka, broker in
            let topic = try await kafka.topic()
            try await kafka.producer.send(KafkaRecord(topic: topic, partition: 0, value: [0]))
            try broker.setRoundTrip(.seconds(2))
            async let lost = kafka.producer.sendBatch([KafkaRecord(topic: topic, partition: 0, value: [1])])
            try await eventually("it is under way") { await kafka.producer.unacknowledged == 1 }
            await kafka.producer.raiseFatalError()
            let failure = try #require(try await lost.failures.first)
            #expect(failure.error.code == .producerFailed)
            #expect(failure.error.isFatal && failure.error.isRetriable)
            #expect(await kafka.producer.rebuildCount == 1)
            try broker.setRoundTrip(.zero)
            try await kafka.producer.send(KafkaRecord(topic: topic, partition: 0, value: [2]))
        }
    }

    @Test func `a closed producer refuses messages`() async throws {
        try await KafkaFixture.with { kafka in
            await kafka.producer.close()
            let error = await #expect(throws: KafkaError.self) {
                try await kafka.producer.send(KafkaRecord(topic: "t", value: [1]))
            }
            #expect(error?.code == .closed)
        }
    }

    @Test func `an unknown setting is named`() async throws {
        let configuration = KafkaConfiguration(bootstrapServers: "127.0.0.1:1", properties: ["no.such.thing": "1"])
        let error = #expect(throws: KafkaError.self) { try KafkaConsumer(configuration: configuration) }
        #expect(error?.code == .configuration)
        #expect(error?.message.contains("no.such.thing") == true)
    }
}
