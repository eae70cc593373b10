import DocumentModel
import SyncEngine

extension Changeset {
    init(_ fields: FrameReader) throws(SyncProtocolError) {
        self.init(
            version: try fields.integer("version", atLeast: 1),
            clock: try fields.require(
                "clock", HybridTime(wireText: try fields.string("clock")), "milliseconds, a dot and a counter"),
            id: try fields.optionalString("id", limit: 64),
            operations: try fields.objects("operations", Operation.init))
        if operations.isEmpty { throw fields.wrong("operations", "a list with an operation") }
    }

    func write(to writer: inout FrameWriter) {
        writer.field("version", version)
        writer.field("clock", clock.wireText)
        if let id { writer.field("id", id) }
        writer.array("operations") { writer in
            for operation in operations { writer.element(operation.write) }
        }
    }
}

extension Operation {
    init(_ fields: FrameReader) throws(SyncProtocolError) {
        let kind: Kind
        switch try fields.string("op") {
        case "insert": kind = .insert(try fields.object("document"))
        case "update":
            var arrayFilters: [Document] = []
            if fields.has("arrayFilters") {
                arrayFilters = try fields.objects("arrayFilters") { $0.document }
            }
            kind = .update(operators: try fields.object("update"), arrayFilters: arrayFilters)
        case "delete": kind = .delete
        default: throw fields.wrong("op", "insert, update or delete")
        }
        self.init(
            collection: try fields.name("collection"), id: fields.operationId, kind: kind,
            incarnation: try fields.optionalRevision("incarnation"), base: try fields.optionalRevision("base"))
    }

    func write(to writer: inout FrameWriter) {
        switch kind {
        case .insert: writer.field("op", "insert")
        case .update: writer.field("op", "update")
        case .delete: writer.field("op", "delete")
        }
        writer.field("collection", collection)
        writer.field("_id", id)
        if let incarnation { writer.field("incarnation", incarnation) }
        if let base { writer.field("base", base) }
        switch kind {
        case .insert(let document): writer.field("document", document)
        case .update(let operators, let arrayFilters):
            writer.field("update", operators)
            if !arrayFilters.isEmpty { writer.field("arrayFilters", .array(arrayFilters.map(Value.document))) }
        case .delete: break
        }
    }
}

extension HybridTime {
    /// Milliseconds, a dot, and the counter, so that clients without 64-bit integers can handle it, too.
    var wireText: String { "\(milliseconds).\(counter)" }

    init?(wireText: String) {
        let parts = wireText.split(separator: ".", omittingEmptySubsequences: false)
        guard parts.count == 2, let milliseconds = Int64(parts[0]), let counter = UInt16(parts[1]),
            (0..<(1 << 47)).contains(milliseconds)
        else { return nil }
        self.init(milliseconds: milliseconds, counter: counter)
    }
}
