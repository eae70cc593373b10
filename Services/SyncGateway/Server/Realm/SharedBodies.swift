import EventLoop
import RealmSync

/// The bodies of messages that were compressed last: many clients of a partition are sent the same.
final class SharedBodies: Sendable {
    struct Body: Sendable {
        let content: [UInt8]
        /// `nil` if it can't be compressed.
        let compressed: [UInt8]?
    }

    private let bodies = Locked<[Body]>([])

    private static let most = 4
    /// A body that is longer is compressed for each client.
    private static let maximumBytes = 2 << 20

    /// Compresses to a zlib stream (RFC 1950).
    func deflate(_ content: [UInt8]) -> [UInt8]? { body(content).compressed }

    func body(_ content: [UInt8]) -> Body {
        if let known = bodies.withLock({ $0.first { $0.content == content } }) { return known }
        let body = Body(content: content, compressed: ZlibStream.deflate(content))
        if content.count > Self.maximumBytes { return body }
        bodies.withLock { bodies in
            bodies.insert(body, at: 0)
            if bodies.count > Self.most { bodies.removeLast() }
        }
        return body
    }
}
