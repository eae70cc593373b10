import DocumentModel

/// Reads the fields of a payload. Its errors name the field that violates the contract.
struct FieldReader {
    let document: Document
    /// The document's path in the payload, for error messages: empty, or ending in a dot.
    var path = ""

    init(_ document: Document) { self.document = document }

    func required(_ name: String) throws(EventTopicsError) -> Value {
        guard let value = document[name] else { throw EventTopicsError(.missingField, "\(path)\(name) is missing") }
        return value
    }

    func optional<T>(_ name: String, _ convert: (Value) -> T?) throws(EventTopicsError) -> T? {
        guard let value = document[name], !value.isNull else { return nil }
        guard let converted = convert(value) else { throw wrongType(name) }
        return converted
    }

    func required<T>(_ name: String, _ convert: (Value) -> T?) throws(EventTopicsError) -> T {
        guard let converted = convert(try required(name)) else { throw wrongType(name) }
        return converted
    }

    func wrongType(_ name: String) -> EventTopicsError {
        EventTopicsError(.wrongType, "\(path)\(name) has a value outside of the contract")
    }

    func string(_ name: String) throws(EventTopicsError) -> String { try required(name, \.stringValue) }
    func optionalString(_ name: String) throws(EventTopicsError) -> String? { try optional(name, \.stringValue) }
    func integer(_ name: String) throws(EventTopicsError) -> Int64 { try required(name, \.int64Value) }
    func optionalInteger(_ name: String) throws(EventTopicsError) -> Int64? { try optional(name, \.int64Value) }
    /// Whether the field is `true`; it may be absent.
    func flag(_ name: String) throws(EventTopicsError) -> Bool { try optional(name, \.boolValue) ?? false }
    func date(_ name: String) throws(EventTopicsError) -> Int64 { try required(name, \.dateValue) }
    func optionalDate(_ name: String) throws(EventTopicsError) -> Int64? { try optional(name, \.dateValue) }
    func document(_ name: String) throws(EventTopicsError) -> Document { try required(name, \.documentValue) }
    func optionalDocument(_ name: String) throws(EventTopicsError) -> Document? { try optional(name, \.documentValue) }

    func partition(_ name: String) throws(EventTopicsError) -> Partition { Partition(text: try string(name)) }

    func revision(_ name: String) throws(EventTopicsError) -> Revision {
        try required(name) { $0.stringValue.flatMap { Revision($0) } }
    }

    func choice<T: RawRepresentable<String>>(_ name: String, _ type: T.Type) throws(EventTopicsError) -> T {
        try required(name) { $0.stringValue.flatMap(T.init(rawValue:)) }
    }

    func strings(_ name: String) throws(EventTopicsError) -> [String] {
        guard let values = document[name] else { return [] }
        guard let elements = values.arrayValue else { throw wrongType(name) }
        let texts = elements.compactMap(\.stringValue)
        guard texts.count == elements.count else { throw wrongType(name) }
        return texts
    }

    /// A reader of an embedded document.
    func nested(_ name: String) throws(EventTopicsError) -> FieldReader {
        var reader = FieldReader(try document(name))
        reader.path = "\(path)\(name)."
        return reader
    }

    func optionalNested(_ name: String) throws(EventTopicsError) -> FieldReader? {
        try optionalDocument(name) == nil ? nil : try nested(name)
    }

    /// `{db, coll}`, as in change events.
    func namespace() throws(EventTopicsError) -> ChangeEvent.Namespace {
        let reader = try nested("ns")
        return .init(database: try reader.string("db"), collection: try reader.string("coll"))
    }

    /// The `_id` in `documentKey`.
    func documentKey() throws(EventTopicsError) -> Value { try nested("documentKey").required("_id") }
}

extension Document {
    /// Appends a field if it has a value.
    mutating func append(_ name: String, _ value: Value?) {
        if let value { fields.append(.init(name, value)) }
    }
}

extension ChangeEvent.Namespace {
    var encoded: Value { ["db": .string(database), "coll": .string(collection)] }

    /// `db.coll/key`, which names a document within its app.
    func subject(_ key: Value) -> String {
        "\(database).\(collection)/\(key.idText ?? ExtendedJSON.print(key))"
    }
}
