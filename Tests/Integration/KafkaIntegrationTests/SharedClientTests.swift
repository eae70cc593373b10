import EventLoop
import Kafka
import TestSupport
import Testing

/// Several readers through one client of the brokers.
@Suite struct SharedClientTests {
    private func fill(_ kafka: KafkaFixture, _ topic: String, _ numbers: Range<Int>, size: Int = 0) async throws {
        try await kafka.producer.sendBatch(
            numbers.map {
                KafkaRecord(
                    topic: topic, partition: 0, key: Array("\($0)".utf8),
                    value: Array("\($0)".utf8) + [UInt8](repeating: 32, count: size))
            }
        ).requireAll()
    }

    private func withReaders(
        _ kafka: KafkaFixture, of topics: [String], _ body: ([KafkaConsumer]) async throws -> Void
    ) async throws {
        var readers: [KafkaConsumer] = []
        for _ in topics { readers.append(try KafkaConsumer(sharing: kafka.client)) }
        let result: Result<Void, any Error>
        do {
            for (topic, reader) in zip(topics, readers) {
                try await reader.assign([KafkaTopicPartition(topic: topic, partition: 0): .beginning])
            }
            result = .success(try await body(readers))
        } catch {
            result = .failure(error)
        }
        for reader in readers { await reader.close() }
        try result.get()
    }

    @Test(arguments: [false, true])
    func `each reader gets its own messages, and no others`(_ isEmbedded: Bool) async throws {
        try await KafkaFixture.with(isEmbedded) { kafka in
            let topics = [try await kafka.topic("a", partitions: 1), try await kafka.topic("b", partitions: 1)]
            try await fill(kafka, topics[0], 0..<10)
            try await fill(kafka, topics[1], 100..<110)
            try await withReaders(kafka, of: topics) { readers in
                let other = try await readers[1].read(10)
                #expect(other.map { text($0.value) } == (100..<110).map { "\($0)" })
                let read = try await readers[0].read(10)
                #expect(read.map { text($0.value) } == (0..<10).map { "\($0)" })
            }
        }
    }

    @Test(arguments: [false, true])
    func `a reader that ends doesn't affect others, and its topic can be read again`(_ isEmbedded: Bool) async throws {
        try await KafkaFixture.with(isEmbedded) { kafka in
            let topics = [try await kafka.topic("a", partitions: 1), try await kafka.topic("b", partitions: 1)]
            try await fill(kafka, topics[0], 0..<5)
            try await withReaders(kafka, of: [topics[1]]) { stays in
                for _ in 0..<20 {
                    try await withReaders(kafka, of: [topics[0]]) { readers in
                        let read = try await readers[0].read(5)
                        #expect(read.map { text($0.value) } == (0..<5).map { "\($0)" })
                    }
                }
                try await fill(kafka, topics[1], 0..<3)
                let read = try await stays[0].read(3)
                #expect(read.map { text($0.value) } == ["0", "1", "2"])
            }
        }
    }

    @Test func `two readers of one topic are refused, since each message goes to one`() async throws {
        try await KafkaFixture.with { kafka in
            let topic = try await kafka.topic("a", partitions: 1)
            try await withReaders(kafka, of: [topic]) { readers in
                let second = try KafkaConsumer(sharing: kafka.client)
                let error = await #expect(throws: KafkaError.self) {
                    try await second.assign([KafkaTopicPartition(topic: topic, partition: 0): .beginning])
                }
                #expect(error?.code == .configuration)
                #expect(error?.message.contains(topic) == true)
                await second.close()
                try await fill(kafka, topic, 0..<2)
                let read = try await readers[0].read(2)
                #expect(read.count == 2)
            }
        }
    }

    @Test func `a reader that doesn't read delays no other reader, and loses nothing`() async throws {
        try await KafkaFixture.with { kafka in
            let topics = [try await kafka.topic("slow", partitions: 1), try await kafka.topic("quick", partitions: 1)]
            // More than the client prefetches for a reader that doesn't read.
            for start in stride(from: 0, to: 600, by: 50) {
                try await fill(kafka, topics[0], start..<start + 50, size: 100_000)
            }
            try await withReaders(kafka, of: topics) { readers in
                for number in 0..<5 {
                    try await fill(kafka, topics[1], number..<number + 1)
                    let read = try await readers[1].read(1, within: .seconds(5))
                    #expect(read.map { text($0.value) } == ["\(number)"])
                }
                let all = try await readers[0].read(600, within: .seconds(60))
                #expect(all.map { text($0.key) } == (0..<600).map { "\($0)" })
            }
        }
    }

    @Test func `a client that is closed ends with its last reader, and accepts no more`() async throws {
        try await KafkaFixture.with { kafka in
            let topic = try await kafka.topic("a", partitions: 1)
            let client = KafkaClient(configuration: kafka.configuration)
            let reader = try KafkaConsumer(sharing: client)
            try await reader.assign([KafkaTopicPartition(topic: topic, partition: 0): .beginning])
            await client.close()
            #expect(throws: KafkaError.self) { try KafkaConsumer(sharing: client) }
            try await fill(kafka, topic, 0..<2)
            let read = try await reader.read(2)
            #expect(read.count == 2)
            await reader.close()
            await client.close()
        }
    }
}
