import EventLoop
import RealmSync

/// The bodies of messages that were compressed last: many clients of a partition are sent the same.
final class SharedBodies: Sendable {
    private struct Body {
        let content: [UInt8]
        /// `nil` if it can't be compressed.
        let compressed: [UInt8]?
    }

    private let bodies = Locked<[Body]>([])

    private static let most = 4
    /// A body that is longer is compressed for each client.
    private static let maximumBytes = 2 << 20

    /// Compresses to a zlib stream (RFC 1950).
    func deflate(_ content: [UInt8]) -> [UInt8]? {
        if content.count > Self.maximumBytes { return ZlibStream.deflate(content) }
        if let known = bodies.withLock({ $0.first { $0.content == content } }) { return known.compressed }
        let compressed = ZlibStream.deflate(content)
        bodies.withLock { bodies in
            bodies.insert(Body(content: content, compressed: compressed), at: 0)
            if bodies.count > Self.most { bodies.removeLast() }
        }
        return compressed
    }
}
