import BenchmarkRunner
import CBenchmarkReferences
import EventLoop
import Foundation
import Kafka

/// Messages that eight tasks send in batches of 500, acknowledged by all in-sync replicas, against librdkafka's producer with as many
/// under way.
let kafkaProduced = Benchmark(Figure("kafka.produced", .perSecond, goal: .ratio(atLeast: 0.5))) { bench in
    let topic = try await BenchmarkTopic(on: bench.machine)
    let loops = LoopGroup(1, name: "kafka")
    let producer = KafkaProducer(configuration: topic.configuration, loop: loops.next())
    let (tasks, batches, batchSize) = (8, 15, 500)
    let count = tasks * batches * batchSize
    let measurements = try await bench.compare {
        try await Stopwatch.rate(count) {
            try await withThrowingDiscardingTaskGroup { group in
                for task in 0..<tasks {
                    group.addTask(executorPreference: loops.next().taskExecutor) {
                        for batch in 0..<batches {
                            let first = Int32((task * batches + batch) * batchSize)
                            let records = (0..<Int32(batchSize)).map { topic.record(first + $0) }
                            try await producer.sendBatch(records).requireAll()
                        }
                    }
                }
            }
        }
    } reference: {
        try await topic.producedByLibrdkafka(count, window: tasks * batchSize)
    }
    await producer.close()
    await loops.shutDown()
    return measurements
}

/// Messages that a consumer reads from the beginning of a partition, with their headers, against librdkafka's consumer.
let kafkaConsumed = Benchmark(Figure("kafka.consumed", .perSecond, goal: .ratio(atLeast: 0.5))) { bench in
    let topic = try await BenchmarkTopic(on: bench.machine)
    let count = 300_000
    _ = try await topic.producedByLibrdkafka(count, window: 4_000)
    return try await bench.compare {
        let consumer = try KafkaConsumer(configuration: topic.configuration)
        try await consumer.assign([KafkaTopicPartition(topic: topic.name, partition: 0): .beginning])
        var (read, bytes) = (0, 0)
        var start: ContinuousClock.Instant?
        while read < count {
            let batch = try await consumer.next(timeout: .seconds(20))
            if start == nil { start = .now }
            guard !batch.messages.isEmpty else { throw BenchmarkError("\(count - read) messages never came") }
            for message in batch.messages {
                guard let type = message.headers["ce_type"] else { throw BenchmarkError("a message without its type") }
                bytes += (message.key?.count ?? 0) + (message.value?.count ?? 0) + type.utf8.count
            }
            read += batch.messages.count
        }
        guard let start, bytes > 0 else { throw BenchmarkError("nothing came") }
        let seconds = (ContinuousClock.now - start) / .seconds(1)
        await consumer.close()
        return Double(count) / seconds
    } reference: {
        try await topic.consumedByLibrdkafka(count)
    }
}

/// A topic of one partition, and what is sent to it.
private struct BenchmarkTopic {
    let name = "bench-messages-\(UUID().uuidString.prefix(8).lowercased())"
    let configuration: KafkaConfiguration
    private let value = [UInt8](repeating: UInt8(ascii: "x"), count: 300)

    init(on machine: Machine) async throws {
        let broker = try await machine.kafka()
        configuration = KafkaConfiguration(bootstrapServers: broker.bootstrap, embedded: broker.isEmbedded)
        try await KafkaAdmin(configuration: configuration).createTopics([KafkaTopic(name: name, partitions: 1)])
    }

    func record(_ number: Int32) -> KafkaRecord {
        KafkaRecord(
            topic: name, key: withUnsafeBytes(of: number) { Array($0) }, value: value,
            headers: ["ce_id": "6570a1", "ce_type": "partita.bench"])
    }

    func producedByLibrdkafka(_ count: Int, window: Int) async throws -> Double {
        try await rate(count) {
            reference_kafka_produce(
                configuration.bootstrapServers, name, value, value.count, Int32(count), Int32(window))
        }
    }

    func consumedByLibrdkafka(_ count: Int) async throws -> Double {
        try await rate(count) {
            reference_kafka_consume(configuration.bootstrapServers, name, Int32(count), configuration.embedded)
        }
    }

    private func rate(_ count: Int, _ seconds: @escaping @Sendable () -> Double) async throws -> Double {
        let seconds = try await Blocking.run(seconds)
        if seconds <= 0 { throw BenchmarkError("librdkafka lost the broker") }
        return Double(count) / seconds
    }
}
