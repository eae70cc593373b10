import DocumentModel
import EventTopics

/// Where the changes are that a topic may have lost: ``ChangeHistory``, over its partitions and change rows.
public protocol GapSource: Sendable {
    /// The heads of all partitions, in an order that stays the same.
    /// - Parameters:
    ///   - key: only partitions behind it; `nil` for the first ones.
    ///   - limit: at most so many; fewer means that there are no more.
    func heads(after key: PartitionKey?, limit: Int) async throws -> [PartitionHead]

    /// Changes of a partition that are still kept, in the order of their revisions.
    /// - Parameters:
    ///   - number: only those above it.
    ///   - limit: at most so many.
    func changes(_ key: PartitionKey, after number: Int64, limit: Int) async throws -> [ChangeEvent]
}
