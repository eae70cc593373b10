import DocumentModel
import EventTopics

/// Provides the heads of partitions and the changes that a topic may have lost. ``ChangeHistory`` reads both from Postgres.
public protocol GapSource: Sendable {
    /// Returns a page of the heads of partitions, in a stable order. Those of which a consumer has handled every change may be left out.
    /// - Parameters:
    ///   - consumer: the consumer's name in `HandledEvents`.
    ///   - partitions: which partitions are wanted.
    ///   - key: the partition after which the page begins; `nil` for the first page.
    ///   - limit: the maximum number of heads; a shorter page is the last one.
    func heads(
        unhandledBy consumer: String, of partitions: SweepScope, after key: PartitionKey?, limit: Int
    ) async throws -> [PartitionHead]

    /// Returns changes of a partition that are still kept, in the order of their revisions.
    /// - Parameters:
    ///   - number: only changes with a higher revision number are returned.
    ///   - limit: the maximum number of changes; fewer are returned, but at least one, if their documents are large.
    func changes(_ key: PartitionKey, after number: Int64, limit: Int) async throws -> [ChangeEvent]

    /// Returns for each of these changes whether the database has lost it in a restore or a failover. Its event outlives it in the topic,
    /// and must not be handled: the device that wrote it uploads it again, and then it is another change.
    func areLost(_ changes: [(key: PartitionKey, revision: Revision)]) async throws -> [Bool]
}
