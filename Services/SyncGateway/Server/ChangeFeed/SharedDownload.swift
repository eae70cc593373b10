import DocumentModel
import EventLoop
import SyncEngine
import SyncProtocol
import WebSocket

/// Live changes of a partition, encoded once for the devices that read compact frames, and once for the others, if there are any.
final class SharedDownload: Sendable {
    /// What frames have of a change, with its document as text: as values it would take several times as much while the frames wait.
    struct Change: Sendable {
        let collection: String
        let id: String
        let revision: Revision
        let incarnation: Revision
        let origin: DocumentChange.Origin?
        let body: [UInt8]?

        init(_ change: FeedChange) {
            collection = change.namespace.collection
            id = change.id
            revision = change.revision
            incarnation = change.incarnation
            origin = change.origin.map { .init(device: $0.device, version: $0.version) }
            body = change.body
        }
    }

    private let changes: [Change]
    private let from: Revision
    private let to: Revision
    private let partition: Partition
    private let compact: WebSocketFrame
    private let full = Locked<WebSocketFrame?>(nil)

    init(_ changes: [Change], from: Revision, to: Revision, in partition: Partition) {
        self.changes = changes
        self.from = from
        self.to = to
        self.partition = partition
        compact = Self.frame(changes, from: from, to: to, in: partition, isCompact: true)
    }

    /// The size of the compact frame in bytes.
    var byteCount: Int { compact.payloadCount }

    func frame(isCompact: Bool) -> WebSocketFrame {
        if isCompact { return compact }
        return full.withLock { full in
            let frame = full ?? Self.frame(changes, from: from, to: to, in: partition, isCompact: false)
            full = frame
            return frame
        }
    }

    private static func frame(
        _ changes: [Change], from: Revision, to: Revision, in partition: Partition, isCompact: Bool
    ) -> WebSocketFrame {
        var encoder = DownloadEncoder(partition: partition, from: from, isCompact: isCompact)
        for change in changes {
            encoder.append(
                collection: change.collection, idText: change.id, revision: change.revision,
                incarnation: change.incarnation, origin: change.origin, body: change.body)
        }
        return WebSocketFrame(download: encoder.finish(to: to))
    }
}

extension WebSocketFrame {
    /// The frame of a download, live or of a catch-up. Those of less than a kilobyte aren't compressed.
    convenience init(download bytes: [UInt8]) { self.init(.text, bytes, isCompressible: bytes.count >= 1024) }
}
