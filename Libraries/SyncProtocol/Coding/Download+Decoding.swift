import DocumentModel
import SyncEngine

extension Download {
    init(_ fields: FrameReader) throws(SyncProtocolError) {
        var catchUp: CatchUp?
        if fields.has("final") {
            let progress = try fields.reader("progress")
            catchUp = CatchUp(
                isFinal: try fields.bool("final"), lastVersion: try fields.integer("lastVersion"),
                progress: CatchUpProgress(
                    done: Int(clamping: try progress.integer("done")),
                    total: Int(clamping: try progress.integer("total"))),
                resume: try fields.optionalString("resume", limit: ResumeToken.maximumBytes))
        }
        var collection: String?
        let changes = try fields.objects("changes") { (fields) throws(SyncProtocolError) in
            let change = try DocumentChange(fields, after: collection)
            collection = change.collection
            return change
        }
        self.init(
            from: try fields.revision("from"), to: try fields.revision("to"), changes: changes, catchUp: catchUp)
    }
}

extension DocumentChange {
    /// Reads a change of a frame, compact or not.
    /// - Parameter former: The collection of the change before it in the frame.
    init(_ fields: FrameReader, after former: String?) throws(SyncProtocolError) {
        var document: Document?
        switch try fields.optionalString("op") {
        case nil, "upsert": document = try fields.object("document")
        case "delete": break
        default: throw fields.wrong("op", "upsert or delete")
        }
        var origin: Origin?
        if fields.has("origin") {
            let reader = try fields.reader("origin")
            origin = Origin(device: try reader.name("device"), version: try reader.integer("version", atLeast: 1))
        }
        let collection: String
        if let former, !fields.has("collection") {
            collection = former
        } else {
            collection = try fields.name("collection")
        }
        let revision = try fields.revision("revision")
        let incarnation = try fields.optionalRevision("incarnation")
        self.init(
            collection: collection, id: try fields.documentId(or: document?["_id"]), revision: revision,
            incarnation: incarnation ?? revision, document: document, origin: origin)
    }
}
