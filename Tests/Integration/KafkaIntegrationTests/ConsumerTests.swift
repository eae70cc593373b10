import ChildProcesses
import EmbeddedKafka
import EventLoop
import Kafka
import LocalEngines
import TestSupport
import Testing

@Suite struct ConsumerTests {
    private func fill(_ kafka: KafkaFixture, _ topic: String, _ numbers: Range<Int>, partition: Int32? = nil)
        async throws
    {
        try await kafka.producer.sendBatch(
            numbers.map {
                KafkaRecord(topic: topic, partition: partition, key: Array("\($0)".utf8), value: Array("\($0)".utf8))
            }
        ).requireAll()
    }

    @Test func `reading continues at the stored offsets`() async throws {
        try await KafkaFixture.with { kafka in
            let topic = try await kafka.topic(partitions: 1)
            let partition = KafkaTopicPartition(topic: topic, partition: 0)
            let options = KafkaConsumerOptions(group: kafka.prefix, sessionTimeout: kafka.sessionTimeout)
            try await fill(kafka, topic, 0..<10)
            try await kafka.withConsumer(options) { consumer in
                try await consumer.subscribe(to: [topic])
                #expect(try await consumer.read(10).count == 10)
                try consumer.storeOffsets([partition: 4])
            }
            try await kafka.withConsumer(options) { consumer in
                try await consumer.subscribe(to: [topic])
                #expect(try await consumer.read(6).map { text($0.value) } == (4..<10).map { "\($0)" })
                #expect(try await consumer.committedOffsets([partition]) == [partition: 4])
                try consumer.storeOffsets([partition: 10])
                try await consumer.commit()
                #expect(try await consumer.committedOffsets([partition]) == [partition: 10])
                #expect(try consumer.positions([partition]) == [partition: 10])
                #expect(try await consumer.watermarks(partition) == KafkaWatermarks(low: 0, high: 10))
                #expect(consumer.lag(partition, from: 7) == 3)
            }
        }
    }

    /// librdkafka takes partitions again only when the commits in flight are answered; one to a broker that died in between
    /// was given up after a minute.
    @Test func `no request to a broker outlives the member's session`() {
        let configuration = KafkaConfiguration(bootstrapServers: "127.0.0.1:9092")
        for session in [Duration.seconds(6), .seconds(30)] {
            let settings = KafkaConsumerOptions(group: "members", sessionTimeout: session).settings(for: configuration)
            #expect(settings["socket.timeout.ms"] == settings["session.timeout.ms"])
        }
    }

    /// librdkafka before 2.3 ends the process when a member leaves after it has joined and before its first assignment.
    @Test func `a member can leave at any time while it joins its group`() async throws {
        try await KafkaFixture.with { kafka in
            let topic = try await kafka.topic(partitions: 2)
            try await withThrowingTaskGroup(of: Void.self) { group in
                for number in 0..<20 {
                    group.addTask {
                        let options = KafkaConsumerOptions(
                            group: "\(kafka.prefix)-\(number / 2)", sessionTimeout: kafka.sessionTimeout)
                        try await kafka.withConsumer(options) { consumer in
                            try await consumer.subscribe(to: [topic])
                            try await Task.sleep(for: .milliseconds(number * 200))
                        }
                    }
                }
                try await group.waitForAll()
            }
        }
    }

    @Test func `partitions move to a second member without being read twice`() async throws {
        try await KafkaFixture.with { kafka in
            let topic = try await kafka.topic(partitions: 4)
            let options = KafkaConsumerOptions(group: kafka.prefix, sessionTimeout: kafka.sessionTimeout)
            try await fill(kafka, topic, 0..<100)
            try await kafka.withConsumer(options) { first in
                let owned = Locked<Set<KafkaTopicPartition>>([])
                try await first.subscribe(to: [topic]) { change in
                    switch change {
                    case .assigned(let partitions): owned.withLock { $0.formUnion(partitions) }
                    case .revoked(let partitions, let isLost):
                        #expect(!isLost)
                        owned.withLock { $0.subtract(partitions) }
                    }
                }
                var next: [KafkaTopicPartition: Int64] = [:]
                for message in try await first.read(100) { next[message.topicPartition] = message.offset + 1 }
                // A commit that is sent only with a revocation may be refused if the next rebalance has already begun.
                try first.storeOffsets(next)
                try await first.commit()
                #expect(owned.withLock { $0.count } == 4)
                try await kafka.withConsumer(options) { second in
                    try await second.subscribe(to: [topic])
                    try await eventually("two partitions each", within: patience) {
                        let again = try await first.next(timeout: .milliseconds(20)).messages.count
                        let twice = try await second.next(timeout: .milliseconds(20)).messages.count
                        #expect(again + twice == 0)
                        return owned.withLock { $0.count } == 2
                    }
                    try await fill(kafka, topic, 100..<200)
                    var numbers: [String?] = []
                    try await eventually("each message once", within: patience) {
                        numbers += try await first.next(timeout: .milliseconds(20)).messages.map { text($0.value) }
                        numbers += try await second.next(timeout: .milliseconds(20)).messages.map { text($0.value) }
                        return numbers.count >= 100
                    }
                    #expect(Set(numbers.compactMap { $0 }) == Set((100..<200).map { "\($0)" }))
                }
            }
        }
    }

    @Test func `a paused partition delivers nothing, and everything later`() async throws {
        try await KafkaFixture.with { kafka in
            let topic = try await kafka.topic(partitions: 2)
            let quiet = KafkaTopicPartition(topic: topic, partition: 0)
            let loud = KafkaTopicPartition(topic: topic, partition: 1)
            try await kafka.withConsumer { consumer in
                try await consumer.assign([quiet: .offset(0), loud: .offset(0)])
                try consumer.pause([quiet])
                try await fill(kafka, topic, 0..<5, partition: 0)
                try await fill(kafka, topic, 5..<10, partition: 1)
                #expect(try await consumer.read(5).allSatisfy { $0.topicPartition == loud })
                try consumer.resume([quiet])
                #expect(try await consumer.read(5).allSatisfy { $0.topicPartition == quiet })
                try await consumer.seek(quiet, to: .offset(3))
                #expect(try await consumer.read(2).map(\.offset) == [3, 4])
            }
        }
    }

    @Test func `the end of a partition is reported, also of an empty one`() async throws {
        try await KafkaFixture.with { kafka in
            let topic = try await kafka.topic(partitions: 2)
            try await fill(kafka, topic, 0..<3, partition: 0)
            try await kafka.withConsumer(KafkaConsumerOptions(reportsEnds: true)) { consumer in
                let partitions = (0..<2).map { KafkaTopicPartition(topic: topic, partition: $0) }
                try await consumer.assign([partitions[0]: .beginning, partitions[1]: .beginning])
                var ends: Set<KafkaTopicPartition> = []
                var count = 0
                try await eventually("both ends") {
                    let batch = try await consumer.next(timeout: .milliseconds(100))
                    count += batch.messages.count
                    ends.formUnion(batch.ends)
                    return ends == Set(partitions)
                }
                #expect(count == 3)
            }
        }
    }

    @Test func `cancelling and closing end a wait at once`() async throws {
        try await KafkaFixture.with { kafka in
            let topic = try await kafka.topic(partitions: 1)
            let consumer = try KafkaConsumer(configuration: kafka.configuration)
            try await consumer.assign([KafkaTopicPartition(topic: topic, partition: 0): .end])
            let clock = ContinuousClock()
            let cancelled = try await clock.measure {
                let waiting = Task { try await consumer.next(timeout: .seconds(30)).messages.count }
                try await Task.sleep(for: .milliseconds(100))  // so that it most likely waits already; right either way
                waiting.cancel()
                #expect(try await waiting.value == 0)
            }
            #expect(cancelled < .seconds(25))
            let closed = await clock.measure {
                let waiting = Task { try await consumer.next(timeout: .seconds(30)).messages.count }
                await consumer.close()
                _ = await waiting.result
            }
            #expect(closed < .seconds(25))
            let error = await #expect(throws: KafkaError.self) { try await consumer.next() }
            #expect(error?.code == .closed)
            // A task that is cancelled already wakes nothing, since there is nothing left.
            let late = Task {
                while !Task.isCancelled { await Task.yield() }
                return try await consumer.next().messages.count
            }
            late.cancel()
            #expect(try await late.value == 0)
        }
    }

    @Test func `the embedded broker listens where it is configured to, and is empty after a restart`() async throws {
        let port = try UInt16(LocalPort.free())
        for _ in 0..<2 {
            let broker = try EmbeddedBroker(port: port)
            defer { broker.close() }
            #expect(broker.bootstrapServers == "127.0.0.1:\(port)")
            try broker.createTopic("t", partitions: 7)
            let configuration = KafkaConfiguration(bootstrapServers: broker.bootstrapServers, embedded: true)
            let loop = EventLoop(name: "embedded-test")
            defer { loop.stop() }
            let producer = KafkaProducer(configuration: configuration, loop: loop)
            #expect(try await producer.send(KafkaRecord(topic: "t", partition: 6, value: [1])).offset == 0)
            await producer.close()
        }
        let broker = try EmbeddedBroker(port: port)
        defer { broker.close() }
        #expect(throws: KafkaError.self) { try EmbeddedBroker(port: port) }
    }

    @Test func `the embedded broker ends the wait of a fetch when a message arrives`() async throws {
        try await KafkaFixture.embedded { kafka, _ in
            let topic = try await kafka.topic(partitions: 1)
            let partition = KafkaTopicPartition(topic: topic, partition: 0)
            try await kafka.withConsumer { consumer in
                try await consumer.assign([partition: .beginning])
                var times: [Duration] = []
                for number in 0..<21 {
                    let start = ContinuousClock.now
                    try await kafka.producer.send(KafkaRecord(topic: topic, partition: 0, value: [UInt8(number)]))
                    #expect(try await consumer.read(1).map { $0.value } == [[UInt8(number)]])
                    times.append(ContinuousClock.now - start)
                }
                // A wait that isn't ended takes a quarter of a second on average, and half a second at most.
                let median = times.sorted()[times.count / 2]
                #expect(median < .milliseconds(150), "\(times)")
            }
        }
    }

    @Test func `the embedded broker restarts while processes are being started`() async throws {
        // Each process holds the listener briefly, between its fork and its exec.
        try await KafkaFixture.embedded { kafka, broker in
            let topic = try await kafka.topic()
            try await withThrowingTaskGroup(of: Void.self) { group in
                group.addTask {
                    while !Task.isCancelled { _ = try await CapturedRun.run("true") }
                }
                for _ in 0..<10 {
                    try broker.setDown(true)
                    try broker.setDown(false)
                    await Task.yield()
                }
                group.cancelAll()
            }
            try await kafka.producer.send(KafkaRecord(topic: topic, value: [1]))
        }
    }
}
