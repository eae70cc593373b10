import EventStream
import EventTopics
import Postgres

/// Brings decisions to the topic `permission-grants`: committed grants through the outbox, and what has no grant directly.
struct GrantRelay: Sendable {
    let client: PostgresClient
    let producer: EventProducer
    let outbox: Outbox<GrantOutbox>

    /// Publishes a grant that was just committed.
    func publish(_ grant: Grant) { outbox.publish(grant) }

    /// Answers waiting gateways with what isn't a grant of the pair, and leaves nothing of it in the topic.
    func answer(_ answer: Grant) async throws {
        try await producer.send(GrantsEvent.grant(answer))
        try await remove(Subject(app: answer.app, user: answer.user, partition: answer.partition))
    }

    /// Removes from the topic what it has of a pair that has no grant.
    func remove(_ subject: Subject) async throws {
        try await producer.remove(key: subject.key, from: GrantsEvent.topic)
        // The removal also covers a grant that was committed and published in the meantime.
        try await GrantTable(client: client).publishAgain(subject)
    }
}
