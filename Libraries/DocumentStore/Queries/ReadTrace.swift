import DocumentModel
import EventLoop
import Postgres
import SyncEngine

/// The documents that a transaction has read, so that writing a document that was changed since is a conflict: the reads themselves
/// see what is committed at each statement.
final class ReadTrace: Sendable {
    /// The most documents that are recorded; later ones aren't.
    private static let capacity = 10_000

    private let digests = Locked<[WritePlan.Key: Int]>([:])

    func note(_ document: Document, in namespace: ChangeEvent.Namespace, body: UnsafeRawBufferPointer) {
        guard let id = document["_id"]?.storableId else { return }
        let key = WritePlan.Key(namespace, id: id)
        digests.withLock { digests in
            if digests.count < Self.capacity || digests[key] != nil { digests[key] = Self.digest(body) }
        }
    }

    /// Whether a document was read with a different body.
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
