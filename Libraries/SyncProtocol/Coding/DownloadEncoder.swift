import DocumentModel
import SyncEngine

/// Builds a `download` frame from stored text: the bodies of documents are spliced into it as they are, unparsed.
///
/// The fields that are only known at the end (`to`, the progress) are at the end of the frame, so that a chunk can be cut while it
/// is built.
///
/// A compact frame leaves out of each change what the frame says already: `op` and `_id` where there is a document, the incarnation that is
/// the revision, and the collection of the change before.
public struct DownloadEncoder: Sendable {
    private var writer: FrameWriter
    private let isCompact: Bool
    /// That of the change before.
    private var collection: ExactText?
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

    /// Adds a document that was inserted or changed.
    ///
    /// - Parameters:
    ///   - idText: The `_id` as `Value.idText`.
    ///   - body: The whole document, valid canonical Extended JSON.
    public mutating func appendUpsert(
        collection: String, idText: String, revision: Revision, incarnation: Revision,
        origin: DocumentChange.Origin? = nil, body: UnsafeRawBufferPointer
    ) {
        append(collection, idText, revision, incarnation, origin, body)
    }

    /// Adds a document that was inserted or changed.
    public mutating func appendUpsert(
        collection: String, idText: String, revision: Revision, incarnation: Revision,
        origin: DocumentChange.Origin? = nil, body: [UInt8]
    ) {
        body.withUnsafeBytes { body in
            appendUpsert(
                collection: collection, idText: idText, revision: revision, incarnation: incarnation, origin: origin,
                body: body)
        }
    }

    /// Adds a document that was inserted or changed.
    public mutating func appendUpsert(
        collection: String, idText: String, revision: Revision, incarnation: Revision,
        origin: DocumentChange.Origin? = nil, body: String
    ) {
        var body = body
        body.withUTF8 { body in
            appendUpsert(
                collection: collection, idText: idText, revision: revision, incarnation: incarnation, origin: origin,
                body: UnsafeRawBufferPointer(body))
        }
    }

    /// Adds a document that was deleted, or left the partition.
    public mutating func appendDelete(
        collection: String, idText: String, revision: Revision, incarnation: Revision,
        origin: DocumentChange.Origin? = nil
    ) {
        append(collection, idText, revision, incarnation, origin, nil)
    }

    /// Completes the frame.
    ///
    /// - Parameters:
    ///   - to: The device's checkpoint after the frame, or where the next chunk begins.
    ///   - catchUp: Set for a chunk of a catch-up. A live frame has none, and is the same for all devices that have the partition
    ///     open.
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

    private mutating func append(
        _ collection: String, _ idText: String, _ revision: Revision, _ incarnation: Revision,
        _ origin: DocumentChange.Origin?, _ body: UnsafeRawBufferPointer?
    ) {
        count += 1
        // By the document.
        let isImplied = isCompact && body != nil
        let saysCollection = !isCompact || self.collection != ExactText(collection)
        if saysCollection { self.collection = ExactText(collection) }
        writer.element { writer in
            if !isImplied { writer.field("op", body == nil ? "delete" : "upsert") }
            if saysCollection { writer.field("collection", collection) }
            if !isImplied { writer.field("_id", Value(idText: idText) ?? .null) }
            writer.field("revision", revision)
            if !isCompact || incarnation != revision { writer.field("incarnation", incarnation) }
            if let origin {
                writer.object("origin") { writer in
                    writer.field("device", origin.device)
                    writer.field("version", origin.version)
                }
            }
            if let body { writer.field("document", spliced: body) }
        }
    }

    /// Encodes a frame whose documents are values, not stored text.
    static func encode(_ download: Download, partition: Partition, isCompact: Bool) -> [UInt8] {
        var encoder = DownloadEncoder(partition: partition, from: download.from, isCompact: isCompact)
        for change in download.changes {
            let idText = change.id.idText ?? ""
            if let document = change.document {
                var body: [UInt8] = []
                ExtendedJSON.append(document, mode: .exact, to: &body)
                encoder.appendUpsert(
                    collection: change.collection, idText: idText, revision: change.revision,
                    incarnation: change.incarnation, origin: change.origin, body: body)
            } else {
                encoder.appendDelete(
                    collection: change.collection, idText: idText, revision: change.revision,
                    incarnation: change.incarnation, origin: change.origin)
            }
        }
        return encoder.finish(to: download.to, catchUp: download.catchUp)
    }
}
