public import DocumentModel
import Postgres

/// Records in Postgres which events a consumer has handled: its writes for an event commit together with the event's claim, so that
/// a redelivery changes nothing.
///
/// Claim just before the commit, after the documents' locks and before those of partitions: the claim of a revision locks one row per
/// consumer and partition until the transaction ends. When none of the claimed revisions is new, they were handled before: roll back.
public struct HandledEvents: Sendable {
    /// How far a consumer has come in a partition.
    public struct Progress: Hashable, Sendable {
        /// Every revision number up to it is handled.
        public var watermark: Int64
        /// The handled revision numbers above the watermark.
        public var above: Set<Int64>
        /// The newest epoch of which a revision was handled.
        public var epoch: Int32

        /// Creates a progress from its parts.
        public init(watermark: Int64, above: Set<Int64>, epoch: Int32 = 1) {
            self.watermark = watermark
            self.above = above
            self.epoch = epoch
        }

        /// Returns whether this revision number is handled.
        public func contains(_ number: Int64) -> Bool { number <= watermark || above.contains(number) }

        /// What of it still counts for the changes from this one on: after a restore, revision numbers are used again.
        public func before(_ revision: Revision) -> Progress {
            guard revision.epoch > epoch else { return self }
            return Progress(
                watermark: min(watermark, revision.number - 1), above: above.filter { $0 < revision.number },
                epoch: epoch)
        }

        /// Nothing is handled.
        public static let none = Progress(watermark: 0, above: [])
    }

    /// The migrations of the tables; each service that uses the tables applies them.
    public static let migrations = Migrations(
        owner: "event-stream", files: [(1, "handled_events", PackageResources._001_handled_events_sql)],
        functions: [("handled_events", PackageResources.handled_events_sql)])

    /// The consumer's name, which must not change between releases.
    public let consumer: String

    /// Creates access to the records of the consumer with this name.
    public init(consumer: String) { self.consumer = consumer }

    // MARK: Revisions

    /// Marks changes of a partition as handled, in the transaction of their effect.
    /// - Returns: the revisions that the consumer had not handled before.
    public func claim(
        app: String, partition: Partition, revisions: [Revision], in transaction: some PostgresQuerying
    ) async throws -> Set<Revision> {
        var fresh: Set<Revision> = []
        for (epoch, group) in Dictionary(grouping: revisions, by: \.epoch).sorted(by: { $0.key < $1.key }) {
            let rows = try await transaction.query(
                "SELECT partita.claim_revisions($1, $2, $3, $4, $5)",
                [
                    .text(consumer), .text(app), .text(partition.text), .int(Int64(epoch)),
                    .int8Array(group.map(\.number)),
                ])
            for numbers in try rows.decode([Int64].self) {
                fresh.formUnion(numbers.map { Revision(epoch: epoch, number: $0) })
            }
        }
        return fresh
    }

    /// Marks a change as handled, in the transaction of its effect.
    /// - Returns: whether the consumer had not handled it before; if it had, roll back.
    public func claim(_ change: ChangeEvent, in transaction: some PostgresQuerying) async throws -> Bool {
        try await !claim(
            app: change.app, partition: change.partition, revisions: [change.revision], in: transaction
        ).isEmpty
    }

    /// Marks changes of many partitions that had no effect as handled.
    public func record(
        _ changes: [(key: PartitionKey, revision: Revision)], on client: some PostgresQuerying
    ) async throws {
        guard !changes.isEmpty else { return }
        // All callers record in the same order, so that they don't deadlock.
        try await client.execute(
            """
            SELECT partita.claim_revisions($1, app, partition, epoch::integer, numbers)
            FROM (
                SELECT app, partition, epoch, array_agg(number) AS numbers
                FROM unnest($2::text[], $3::text[], $4::bigint[], $5::bigint[]) AS t(app, partition, epoch, number)
                GROUP BY app, partition, epoch
                ORDER BY app, partition, epoch
            ) grouped
            """,
            [
                .text(consumer), .textArray(changes.map(\.key.app)), .textArray(changes.map(\.key.partition.text)),
                .int8Array(changes.map { Int64($0.revision.epoch) }), .int8Array(changes.map(\.revision.number)),
            ])
    }

    /// Marks all revisions up to one as handled, because they can no longer be handled.
    public func skip(_ key: PartitionKey, to revision: Revision, on client: some PostgresQuerying) async throws {
        try await client.execute(
            "SELECT partita.skip_revisions($1, $2, $3, $4, $5)",
            [
                .text(consumer), .text(key.app), .text(key.partition.text), .int(Int64(revision.epoch)),
                .int(revision.number),
            ])
    }

    /// Returns how far the consumer has come in these partitions; partitions without a handled event are missing from the result.
    public func progress(
        _ keys: [PartitionKey], on client: some PostgresQuerying
    ) async throws -> [PartitionKey: Progress] {
        let rows = try await client.query(
            """
            SELECT h.app, h.partition, h.epoch, h.watermark, h.above
            FROM unnest($2::text[], $3::text[]) AS wanted(app, partition)
            JOIN partita.handled_events h ON h.consumer = $1 AND h.app = wanted.app AND h.partition = wanted.partition
            """,
            [.text(consumer), .textArray(keys.map(\.app)), .textArray(keys.map(\.partition.text))])
        var progress: [PartitionKey: Progress] = [:]
        for row in try rows.decode((String, String, Int32, Int64, [Int64]).self) {
            let (app, partition, epoch, watermark, above) = row
            progress[PartitionKey(app: app, partition: Partition(text: partition))] = Progress(
                watermark: watermark, above: Set(above), epoch: epoch)
        }
        return progress
    }

    // MARK: Events without a revision

    /// Marks an event as handled by its id, in the transaction of its effect.
    /// - Returns: whether the consumer had not handled it before; if it had, roll back.
    public func claim(eventID: String, in transaction: some PostgresQuerying) async throws -> Bool {
        try await transaction.execute(
            "INSERT INTO partita.handled_event_ids (consumer, event_id) VALUES ($1, $2) ON CONFLICT DO NOTHING",
            [.text(consumer), .text(eventID)]) == 1
    }

    /// Returns whether the consumer has handled the event with this id.
    public func contains(eventID: String, in client: some PostgresQuerying) async throws -> Bool {
        try await !client.query(
            "SELECT FROM (VALUES ($2::text)) r(id) WHERE \(Self.isHandledSQL)",
            [.text(consumer), .text(eventID)]
        ).isEmpty
    }

    /// The statement by which events with ids ($2, an array) are marked as handled by a consumer ($1), for a statement that does more. Ids
    /// are in the same order in all callers, so that these don't deadlock.
    public static let claimAllSQL = """
        INSERT INTO partita.handled_event_ids (consumer, event_id)
        SELECT $1, id FROM unnest($2::text[]) id ON CONFLICT DO NOTHING
        """
    /// Whether a consumer ($1) has handled the event with the id `r.id`, as an expression of SQL.
    public static let isHandledSQL = """
        EXISTS (SELECT FROM partita.handled_event_ids h WHERE h.consumer = $1 AND h.event_id = r.id)
        """

    /// Deletes the ids of events that were handled longer ago than `age`.
    /// - Parameter age: at least the retention of the topic, so that these events can't be delivered again.
    public func forgetIDs(olderThan age: Duration, on client: some PostgresQuerying) async throws {
        try await client.deleteOldest(
            from: "partita.handled_event_ids", by: "handled_at",
            where: "consumer = $1 AND handled_at < now() - $2::double precision * interval '1 second'",
            [.text(consumer), .double(age / .seconds(1))])
    }
}
