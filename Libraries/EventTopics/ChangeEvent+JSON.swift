import DocumentModel

// The JSON form of a change event is that of MongoDB's change streams, with Partita's fields after MongoDB's.

extension ChangeEvent {
    /// The event as a document.
    public func encoded() -> Document {
        var document: Document = [
            "_id": ["_data": .string(id)], "operationType": .string(operationType.rawValue),
            "clusterTime": .timestamp(clusterTime), "wallTime": .date(wallTime), "ns": namespace.encoded,
            "documentKey": ["_id": documentKey],
        ]
        document.append("fullDocument", fullDocument.map(Value.document))
        document.append("fullDocumentBeforeChange", fullDocumentBeforeChange.map(Value.document))
        document.append("updateDescription", updateDescription?.encoded)
        document.append("app", .string(app))
        document.append("partition", .string(partition.text))
        document.append("revision", .string(revision.description))
        document.append("incarnation", .string(incarnation.description))
        document.append("movedFrom", movedFrom?.encoded)
        document.append("origin", origin?.encoded)
        document.append(TriggerChain.field, causedBy.map { .document($0.encoded()) })
        if continues { document.append("continues", .bool(true)) }
        return document
    }

    /// Reads an event.
    /// - Throws: `EventTopicsError` for a field that is missing or has another type.
    public init(_ document: Document) throws(EventTopicsError) { try self.init(FieldReader(document)) }

    init(_ reader: FieldReader) throws(EventTopicsError) {
        let update = try reader.optionalNested("updateDescription")
        self.init(
            app: try reader.string("app"), namespace: try reader.namespace(),
            operationType: try reader.choice("operationType", OperationType.self),
            documentKey: try reader.documentKey(),
            partition: try reader.partition("partition"), revision: try reader.revision("revision"),
            incarnation: try reader.revision("incarnation"), fullDocument: try reader.optionalDocument("fullDocument"),
            fullDocumentBeforeChange: try reader.optionalDocument("fullDocumentBeforeChange"),
            updateDescription: try update.map { (reader) throws(EventTopicsError) in try UpdateDescription(reader) },
            movedFrom: try Move.optional(reader),
            origin: try Origin.optional(reader),
            causedBy: try reader.optionalNested(TriggerChain.field).map { (reader) throws(EventTopicsError) in
                try TriggerChain(reader)
            },
            clusterTime: try reader.required("clusterTime") { if case .timestamp(let time) = $0 { time } else { nil } },
            wallTime: try reader.date("wallTime"), continues: try reader.flag("continues"))
    }
}

extension ChangeEvent.Move {
    fileprivate var encoded: Value {
        ["partition": .string(partition.text), "revision": .string(revision.description)]
    }

    fileprivate static func optional(_ reader: FieldReader) throws(EventTopicsError) -> Self? {
        guard let reader = try reader.optionalNested("movedFrom") else { return nil }
        return Self(partition: try reader.partition("partition"), revision: try reader.revision("revision"))
    }
}

extension UpdateDescription {
    var encoded: Value {
        [
            "updatedFields": .document(updatedFields), "removedFields": .array(removedFields.map(Value.string)),
            "truncatedArrays": .array(
                truncatedArrays.map { ["field": .string($0.field), "newSize": .integer($0.newSize)] }),
        ]
    }

    init(_ reader: FieldReader) throws(EventTopicsError) {
        var arrays: [TruncatedArray] = []
        for element in try reader.optional("truncatedArrays", \.arrayValue) ?? [] {
            guard let field = element["field"]?.stringValue, let size = element["newSize"]?.intValue else {
                throw reader.wrongType("truncatedArrays")
            }
            arrays.append(TruncatedArray(field: field, newSize: size))
        }
        self.init(
            updatedFields: try reader.document("updatedFields"), removedFields: try reader.strings("removedFields"),
            truncatedArrays: arrays)
    }
}

extension ChangeEvent.Origin {
    var encoded: Value { ["user": .string(user), "device": .string(device), "version": .int64(version)] }

    static func optional(_ reader: FieldReader) throws(EventTopicsError) -> Self? {
        guard let origin = try reader.optionalNested("origin") else { return nil }
        return Self(
            user: try origin.string("user"), device: try origin.string("device"), version: try origin.integer("version")
        )
    }
}

extension LargeChange {
    func encoded() -> Document {
        var document: Document = [
            "operationType": .string(operationType.rawValue), "wallTime": .date(wallTime), "ns": namespace.encoded,
            "documentKey": ["_id": documentKey], "app": .string(app), "partition": .string(partition.text),
            "revision": .string(revision.description), "incarnation": .string(incarnation.description),
            "size": .int64(size),
        ]
        document.append("movedFrom", movedFrom?.encoded)
        document.append("origin", origin?.encoded)
        if continues { document.append("continues", .bool(true)) }
        return document
    }

    init(_ reader: FieldReader) throws(EventTopicsError) {
        self.init(
            app: try reader.string("app"), namespace: try reader.namespace(),
            operationType: try reader.choice("operationType", ChangeEvent.OperationType.self),
            documentKey: try reader.documentKey(), partition: try reader.partition("partition"),
            revision: try reader.revision("revision"), incarnation: try reader.revision("incarnation"),
            movedFrom: try ChangeEvent.Move.optional(reader), origin: try ChangeEvent.Origin.optional(reader),
            size: try reader.integer("size"),
            wallTime: try reader.date("wallTime"), continues: try reader.flag("continues"))
    }
}
