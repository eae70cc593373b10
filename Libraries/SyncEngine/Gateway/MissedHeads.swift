public import DocumentModel

/// Finds partitions whose newest change the topic doesn't bring, although Postgres has it: the change and the head after it are lost, or
/// the broker is unavailable.
///
/// A change comes by the topic a moment after its commit. So a head counts as missed when it was unseen at one look and still is at the
/// next, and nothing came in between: a feed that is late goes on, and devices don't all read from Postgres what it brings anyway.
public struct MissedHeads: Sendable {
    private struct Unseen: Sendable {
        let head: Revision
        let delivered: Revision
    }

    private var unseen: [PartitionKey: Unseen] = [:]

    public init() {}

    /// - Parameters:
    ///   - delivered: The revisions up to which frames of the partitions were delivered.
    ///   - heads: The newest revisions that Postgres had before.
    /// - Returns: the heads that are missed.
    public mutating func look(
        delivered: [PartitionKey: Revision], heads: [PartitionKey: Revision]
    ) -> [PartitionKey: Revision] {
        var missed: [PartitionKey: Revision] = [:]
        var next: [PartitionKey: Unseen] = [:]
        for (partition, delivered) in delivered {
            if let former = unseen[partition], former.delivered == delivered, former.head > delivered {
                missed[partition] = former.head
            } else if let head = heads[partition], head > delivered {
                next[partition] = Unseen(head: head, delivered: delivered)
            }
        }
        unseen = next
        return missed
    }
}
