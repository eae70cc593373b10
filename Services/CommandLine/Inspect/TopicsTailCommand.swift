import DocumentModel
import EventTopics
import Kafka

/// `partita topics tail TOPIC`.
enum TopicsTailCommand {
    static let command = Command(
        name: "topics tail", summary: "Show the events of a topic as they arrive, until Ctrl-C", parameters: ["TOPIC"],
        options: [
            .init("from-start", "start with the oldest event of the topic"), Output.option, LocalConfiguration.option,
        ]
    ) { arguments in
        let name = try arguments.required("TOPIC")
        guard Topics.all.contains(where: { $0.name == name }) else {
            let names = Topics.all.map(\.name)
            throw UsageError(
                "no topic \(name)\(Suggestion.text(for: name, among: names)); there are: \(names.joined(separator: ", "))"
            )
        }
        try await Tool.run(try LocalConfiguration(arguments: arguments)) { tool in
            let signals = StopSignals()
            let tailing = Task { try await tail(name, arguments, tool: tool) }
            let watching = Task {
                await signals.wait()
                tailing.cancel()
            }
            defer { watching.cancel() }
            try await tailing.value
        }
    }

    private static func tail(_ name: String, _ arguments: Arguments, tool: Tool) async throws {
        let topic = "partita.\(tool.pool).\(name)"
        let consumer = try KafkaConsumer(configuration: tool.kafka, options: KafkaConsumerOptions())
        let partitions = try await consumer.metadata(topic).partitions
        var offsets: [KafkaTopicPartition: KafkaOffset] = [:]
        for partition in partitions {
            offsets[KafkaTopicPartition(topic: topic, partition: partition)] =
                arguments.has("from-start") ? .beginning : .end
        }
        try await consumer.assign(offsets)
        while !Task.isCancelled {
            for message in try await consumer.next(timeout: .milliseconds(500)).messages {
                let key = String(decoding: message.key ?? [], as: UTF8.self)
                let type = message.headers["ce_type"] ?? ""
                let value = message.value.map { String(decoding: $0, as: UTF8.self) }
                Output.row(
                    [
                        "partition": .int32(message.partition), "offset": .int64(message.offset), "key": .string(key),
                        "type": .string(type),
                        "value": value.map { (try? ExtendedJSON.parse($0)) ?? .string($0) } ?? .null,
                    ], isJSON: arguments.has("json"),
                    "\(message.partition)@\(message.offset)  \(key)  \(type)  \(value ?? "")")
            }
        }
        await consumer.close()
    }
}
