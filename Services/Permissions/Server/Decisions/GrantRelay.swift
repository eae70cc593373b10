import EventStream
import EventTopics
import Postgres

/// Brings decisions to the topic `grants`: committed grants through the outbox, and what has no grant directly.
struct GrantRelay: Sendable {
    let client: PostgresClient
    let producer: EventProducer
    let outbox: Outbox<GrantOutbox>

    /// Publishes a grant that was just committed.
    func publish(_ grant: Grant) { outbox.publish(grant) }

    /// Answers waiting gateways with a refusal, and leaves nothing of it in the topic.
    func deny(_ denial: Grant) async throws {
        try await producer.send(GrantsEvent.grant(denial))
        try await remove([Subject(app: denial.app, user: denial.user, partition: denial.partition)])
    }

    /// Removes from the topic what it has of pairs that have no grant.
    func remove(_ subjects: [Subject]) async throws {
        for subject in subjects {
            try await producer.remove(key: subject.key, from: GrantsEvent.topic)
            // The removal also covers a grant that was committed and published in the meantime.
            try await GrantTable(client: client).publishAgain(subject)
        }
    }
}
