import DocumentModel
import EventLoop
import Postgres
import SyncEngine

/// What the reads of a transaction have seen, so that a write of something that others have changed since is a conflict: reads
/// themselves see what is committed at each statement.
final class ReadTrace: Sendable {
    /// Beyond so many documents the later ones aren't noted.
    private static let capacity = 10_000

    private let digests = Locked<[WritePlan.Key: Int]>([:])

    func note(_ document: Document, in namespace: ChangeEvent.Namespace, body: UnsafeRawBufferPointer) {
        guard let id = document["_id"]?.storableId else { return }
        let key = WritePlan.Key(namespace, id: id)
        digests.withLock { digests in
            if digests.count < Self.capacity || digests[key] != nil { digests[key] = Self.digest(body) }
        }
    }

    /// Whether a document was read, and was another then.
    func isOutdated(_ key: WritePlan.Key, by body: [UInt8]) -> Bool {
        digests.withLock { digests in
            guard let digest = digests[key] else { return false }
            return body.withUnsafeBytes { Self.digest($0) } != digest
        }
    }

    private static func digest(_ body: UnsafeRawBufferPointer) -> Int {
        var hasher = Hasher()
        hasher.combine(bytes: body)
        return hasher.finalize()
    }
}
