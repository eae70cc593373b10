import DocumentModel

/// What was uploaded on a connection and not answered: bounded in number by the gateway, and in bytes here.
struct UploadWindow: Sendable {
    /// What may be under way in all; one changeset may always be.
    private static let byteLimit = 4 << 20

    private struct Name: Hashable {
        var partition: Partition
        var version: Int64
    }

    private var sizes: [Name: Int] = [:]
    private var byteCount = 0

    /// Whether everything is answered.
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

    /// The partition was closed, or what was sent will be sent again.
    mutating func forget(_ partition: Partition) {
        for name in sizes.keys where name.partition == partition { answered(partition, name.version) }
    }
}
