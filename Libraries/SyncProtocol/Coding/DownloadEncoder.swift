import DocumentModel
import SyncEngine

/// Builds a `download` frame from stored text: the bodies of documents are spliced into it as they are, unparsed.
///
/// The fields that are only known at the end (`to`, the progress) are at the end of the frame, so that a chunk can be cut while it
/// is built.
///
/// A compact frame leaves out of each change what the frame says already: `op` where there is a document, `_id` where the document begins
/// with exactly this, the incarnation that is the revision, and the collection of the change before.
public struct DownloadEncoder: Sendable {
    private var writer: FrameWriter
    private let isCompact: Bool
    /// That of the change before.
    private var collection: ExactText?
    /// Kept for its memory.
    private var beginning: [UInt8] = []
    /// How many changes the frame has so far.
    public private(set) var count = 0

    /// How many bytes the frame has so far.
    public var byteCount: Int { writer.bytes.count }

    /// Starts a frame.
    ///
    /// - Parameters:
    ///   - from: The revision that the changes follow.
    ///   - isCompact: Whether the device reads compact frames.
    ///   - capacity: The expected size in bytes.
    public init(partition: Partition, from: Revision, isCompact: Bool = false, capacity: Int = 1024) {
        self.isCompact = isCompact
        writer = FrameWriter(type: "download", capacity: capacity)
        writer.field("partition", partition.text)
        writer.field("from", from)
        writer.openArray("changes")
    }

    /// Adds a change.
    ///
    /// - Parameters:
    ///   - idText: The `_id` as `Value.idText`: one text for all values that are the same `_id`. The document may have another of them, 8.50
    ///     for 8.5.
    ///   - body: The whole document, valid canonical Extended JSON; `nil` when it was deleted, or left the partition.
    public mutating func append(
        collection: String, idText: String, revision: Revision, incarnation: Revision,
        origin: DocumentChange.Origin? = nil, body: [UInt8]?
    ) {
        count += 1
        let id = Value(idText: idText) ?? .null
        let saysOperation = !isCompact || body == nil
        let saysId = !isCompact || !begins(body, with: id)
        let saysCollection = !isCompact || self.collection != ExactText(collection)
        if saysCollection { self.collection = ExactText(collection) }
        writer.element { writer in
            if saysOperation { writer.field("op", body == nil ? "delete" : "upsert") }
            if saysCollection { writer.field("collection", collection) }
            if saysId { writer.field("_id", id) }
            writer.field("revision", revision)
            if !isCompact || incarnation != revision { writer.field("incarnation", incarnation) }
            if let origin {
                writer.object("origin") { writer in
                    writer.field("device", origin.device)
                    writer.field("version", origin.version)
                }
            }
            body?.withUnsafeBytes { writer.field("document", spliced: $0) }
        }
    }

    /// Whether a document begins with this `_id`, byte for byte.
    private mutating func begins(_ body: [UInt8]?, with id: Value) -> Bool {
        guard let body else { return false }
        beginning.removeAll(keepingCapacity: true)
        beginning += #"{"_id":"#.utf8
        ExtendedJSON.append(id, mode: .exact, to: &beginning)
        guard body.count > beginning.count, body.starts(with: beginning) else { return false }
        return body[beginning.count] == UInt8(ascii: ",") || body[beginning.count] == UInt8(ascii: "}")
    }

    /// Completes the frame.
    ///
    /// - Parameters:
    ///   - to: The device's checkpoint after the frame, or where the next chunk begins.
    ///   - catchUp: Set for a chunk of a catch-up. A live frame has none, and is the same for all devices that have the partition
    ///     open and read the same form, compact or whole.
    public consuming func finish(to: Revision, catchUp: Download.CatchUp? = nil) -> [UInt8] {
        writer.closeArray()
        writer.field("to", to)
        if let catchUp {
            writer.field("final", catchUp.isFinal)
            writer.field("lastVersion", catchUp.lastVersion)
            writer.object("progress") { writer in
                writer.field("done", Int64(catchUp.progress.done))
                writer.field("total", Int64(catchUp.progress.total))
            }
            if let resume = catchUp.resume { writer.field("resume", resume) }
        }
        return writer.finished()
    }

    /// Encodes a frame whose documents are values, not stored text.
    static func encode(_ download: Download, partition: Partition, isCompact: Bool) -> [UInt8] {
        var encoder = DownloadEncoder(partition: partition, from: download.from, isCompact: isCompact)
        for change in download.changes {
            let body = change.document.map { document in
                var body: [UInt8] = []
                ExtendedJSON.append(document, mode: .exact, to: &body)
                return body
            }
            encoder.append(
                collection: change.collection, idText: change.id.idText ?? "", revision: change.revision,
                incarnation: change.incarnation, origin: change.origin, body: body)
        }
        return encoder.finish(to: download.to, catchUp: download.catchUp)
    }
}
