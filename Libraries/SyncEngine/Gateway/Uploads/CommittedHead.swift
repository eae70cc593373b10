public import DocumentModel

/// The head of a partition after a commit.
public struct CommittedHead: Hashable, Sendable {
    public var partition: Partition
    public var revision: Revision

    public init(partition: Partition, revision: Revision) {
        self.partition = partition
        self.revision = revision
    }
}
