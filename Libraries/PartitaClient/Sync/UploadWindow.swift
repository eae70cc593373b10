import DocumentModel

/// The changesets that were uploaded on a connection and not answered. The gateway bounds their number, this type their
/// bytes.
struct UploadWindow: Sendable {
    /// The bytes that may be in flight in total; a single changeset may exceed them.
    private static let byteLimit = 4 << 20

    private struct Name: Hashable {
        var partition: Partition
        var version: Int64
    }

    private var sizes: [Name: Int] = [:]
    private var byteCount = 0

    /// Whether no changeset is unanswered.
    var isEmpty: Bool { sizes.isEmpty }

    func hasRoom(for count: Int) -> Bool {
        sizes.isEmpty || sizes.count < count && byteCount < Self.byteLimit
    }

    mutating func sent(_ partition: Partition, _ version: Int64, byteCount size: Int) {
        byteCount += size - (sizes.updateValue(size, forKey: Name(partition: partition, version: version)) ?? 0)
    }

    mutating func answered(_ partition: Partition, _ version: Int64) {
        byteCount -= sizes.removeValue(forKey: Name(partition: partition, version: version)) ?? 0
    }

    /// Forgets a partition that was closed, or whose changesets will be sent again.
    mutating func forget(_ partition: Partition) {
        for name in sizes.keys where name.partition == partition { answered(partition, name.version) }
    }
}
