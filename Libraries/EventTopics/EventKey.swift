/// The keys of messages: parts separated by slashes, with the app first. Only the last part may contain slashes.
public enum EventKey {
    /// In place of an app: all apps of the pool. In place of a user: every user.
    public static let everyone = "*"

    /// Joins parts to a key.
    public static func text(_ parts: String...) -> String { parts.joined(separator: "/") }

    /// The parts of a key; `nil` when there are fewer than `count`. The last part contains all the rest.
    public static func parts(_ key: String, count: Int) -> [Substring]? {
        let parts = key.utf8.split(separator: UInt8(ascii: "/"), maxSplits: count - 1, omittingEmptySubsequences: false)
        return parts.count == count ? parts.map { Substring($0) } : nil
    }

    /// The partition of a key, computed with murmur2 as Kafka's own clients do. It is part of the contract: a writer that computes
    /// it differently breaks the order of events.
    /// - Parameter count: the topic's number of partitions, at least 1.
    public static func partition(of key: some Collection<UInt8>, count: Int) -> Int32 {
        Int32((murmur2(Array(key)) & 0x7fff_ffff) % UInt32(count))
    }

    static func murmur2(_ bytes: [UInt8]) -> UInt32 {
        let multiplier: UInt32 = 0x5bd1_e995
        var hash: UInt32 = 0x9747_b28c ^ UInt32(truncatingIfNeeded: bytes.count)
        var index = 0
        while index + 4 <= bytes.count {
            var word =
                UInt32(bytes[index]) | UInt32(bytes[index + 1]) << 8 | UInt32(bytes[index + 2]) << 16
                | UInt32(bytes[index + 3]) << 24
            word = word &* multiplier
            word ^= word >> 24
            hash = (hash &* multiplier) ^ (word &* multiplier)
            index += 4
        }
        if index < bytes.count {
            var shift: UInt32 = 0
            while index < bytes.count {
                hash ^= UInt32(bytes[index]) << shift
                shift += 8
                index += 1
            }
            hash = hash &* multiplier
        }
        hash ^= hash >> 13
        hash = hash &* multiplier
        return hash ^ hash >> 15
    }
}
