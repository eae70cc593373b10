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
        self.init(
            from: try fields.revision("from"), to: try fields.revision("to"),
            changes: try fields.objects("changes", DocumentChange.init), catchUp: catchUp)
    }
}

extension DocumentChange {
    init(_ fields: FrameReader) throws(SyncProtocolError) {
        var document: Document?
        switch try fields.string("op") {
        case "upsert": document = try fields.object("document")
        case "delete": break
        default: throw fields.wrong("op", "upsert or delete")
        }
        var origin: Origin?
        if fields.has("origin") {
            let reader = try fields.reader("origin")
            origin = Origin(device: try reader.name("device"), version: try reader.integer("version", atLeast: 1))
        }
        self.init(
            collection: try fields.name("collection"), id: try fields.documentId(),
            revision: try fields.revision("revision"), incarnation: try fields.revision("incarnation"),
            document: document, origin: origin)
    }
}
