import EventLoop
import RealmSync

/// The bodies of downloads that were made last: many clients of a partition are sent the same.
final class SharedBodies: Sendable {
    /// What is the same for clients that have no part in it.
    struct Key: Hashable, Sendable {
        /// The secrets of the first and the last version.
        private let first: Int64
        private let last: Int64
        /// The client's version before it.
        private let clientVersion: UInt64

        /// - Returns: `nil` if a part of it is the client's own, or for it alone.
        init?(_ part: HistoryPart, for file: Int64, clientVersion: UInt64) {
            guard let first = part.entries.first, let last = part.entries.last,
                !part.entries.contains(where: { $0.file == file || $0.audience == file })
            else { return nil }
            self.first = first.salt
            self.last = last.salt
            self.clientVersion = clientVersion
        }
    }

    private let bodies = Locked<[(key: Key, body: FrameBody)]>([])

    private static let most = 4
    /// A body that is longer is made for each client.
    private static let maximumBytes = 2 << 20

    func body(_ key: Key) -> FrameBody? { bodies.withLock { $0.first { $0.key == key }?.body } }

    /// The download's body.
    /// - Parameter key: What it is; `nil` if no other client is sent the same.
    func body(of download: DownloadFrame, _ key: Key?) -> FrameBody {
        if let key, let known = body(key) { return known }
        let body = download.body()
        if let key, body.bytes.count <= Self.maximumBytes {
            bodies.withLock { bodies in
                bodies.insert((key, body), at: 0)
                if bodies.count > Self.most { bodies.removeLast() }
            }
        }
        return body
    }
}
