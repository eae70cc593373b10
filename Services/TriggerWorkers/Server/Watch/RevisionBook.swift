import DocumentModel

/// The last revision of each partition that the topic brought, by which repeated and missing changes are noticed.
struct RevisionBook {
    enum Place { case next, repeated, afterGap }

    /// The number of partitions that are remembered. Beyond it all are forgotten, and their next changes count as following.
    private static let limit = 100_000

    private var last: [[UInt8]: Revision] = [:]

    /// - Parameter partition: the message's key.
    mutating func note(_ revision: Revision, of partition: [UInt8]) -> Place {
        guard let known = last[partition] else {
            if last.count >= Self.limit { last = [:] }
            last[partition] = revision
            return .next
        }
        guard revision > known else { return .repeated }
        last[partition] = revision
        return revision.epoch != known.epoch || revision.number == known.number + 1 ? .next : .afterGap
    }
}
