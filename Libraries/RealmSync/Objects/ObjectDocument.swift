public import DocumentModel

/// Why a document can't be an object of its class. Clients don't see it until it can.
public struct UnfitDocument: Error, Hashable, Sendable, CustomStringConvertible {
    /// The place in the document: names and indexes with dots.
    @ExactText public private(set) var path: String
    /// What is wrong there, in one sentence without values.
    public let message: String

    init(_ path: String, _ message: String) {
        self.message = message
        self.path = path
    }

    public var description: String { "\(path): \(message)" }
}

extension ObjectSchema {
    /// The object that a document is.
    ///
    /// Fields that the class doesn't have are left out. A required property that is missing has the initial value of its type. Numbers
    /// may have any type in which they are exact.
    /// - Parameter table: The name of a class that isn't embedded.
    public func object(
        of document: Document, table: String
    ) throws(UnfitDocument) -> (key: ObjectKey, object: Document) {
        guard let type = classes[ExactText(table)], let key = type.key else {
            throw UnfitDocument("", "\(table) is no class of objects")
        }
        guard let id = document[key.name].flatMap({ ObjectKey.Id($0) }), key.accepts(id) else {
            throw UnfitDocument(key.name, "the primary key is of another type than the class says")
        }
        return (ObjectKey(table: table, id: id), try object(of: document, type, at: ""))
    }

    /// A document with a property of an object set to a value of a document.
    /// - Returns: `nil` if the class has no such property, or one of another type, or the value is the initial one.
    public func object(
        _ object: Document, of table: String, setting field: String, to value: Value
    ) -> Document? {
        guard let property = classes[ExactText(table)]?.properties[ExactText(field)], property.collection == .single,
            let read = try? self.value(value, property, at: field), !read.isIdentical(to: initial(property))
        else { return nil }
        var object = object
        object.put(read, at: field)
        return object
    }

    private func object(
        of document: Document, _ type: Class, at path: String
    ) throws(UnfitDocument) -> Document {
        var object = Document()
        for (field, property) in type.ordered {
            guard let value = document[field] else { continue }
            let read = try self.value(value, property, at: path.isEmpty ? field : "\(path).\(field)")
            if !read.isIdentical(to: initial(property)) { object[field] = read }
        }
        return object
    }

    private func value(_ value: Value, _ property: Property, at path: String) throws(UnfitDocument) -> Value {
        switch (property.collection, value) {
        case (.single, _):
            if value.isNull { return initial(property) }
            return try element(value, property, at: path)
        case (_, .null), (_, .undefined): return initial(property)
        case (.list, .array(let elements)):
            var read: [Value] = []
            for (index, value) in elements.enumerated() {
                read.append(try element(value, property.element, at: "\(path).\(index)"))
            }
            return .array(read)
        case (.set, .array(let elements)):
            var read: [Value] = []
            for (index, value) in elements.enumerated() {
                read.append(try element(value, property.element, at: "\(path).\(index)"))
            }
            read.sort { Value.compare($0, $1) < 0 }
            return .array(
                read.enumerated().filter { $0 == 0 || Value.compare(read[$0 - 1], $1) != 0 }.map(\.element))
        case (.dictionary, .document(let entries)):
            var read = Document()
            for field in entries.fields {
                read.put(try element(field.value, property.element, at: "\(path).\(field.key)"), at: field.key)
            }
            return .document(read)
        default: throw UnfitDocument(path, "a \(value.typeName) isn't a collection of this kind")
        }
    }

    private func element(_ value: Value, _ type: Property, at path: String) throws(UnfitDocument) -> Value {
        if value.isNull {
            guard type.isNullable || type.isMixed else { throw UnfitDocument(path, "null in a collection") }
            return .null
        }
        if type.isMixed { return try mixed(value, at: path, depth: 0) }
        if let target = embedded(in: type) {
            guard case .document(let document) = value else {
                throw UnfitDocument(path, "a \(value.typeName) isn't an embedded object")
            }
            return .document(try object(of: document, target, at: path))
        }
        if let read = scalar(value, type) { return read }
        throw UnfitDocument(path, "a \(value.typeName) isn't of the property's type")
    }

    private func scalar(_ value: Value, _ type: Property) -> Value? {
        switch (type.type, value) {
        case (.int, .int32), (.int, .int64), (.int, .double): return value.int64Value.map { .int64($0) }
        case (.float, .int32), (.float, .int64), (.float, .double):
            return value.doubleValue.map { .double(Double(Float($0))) }
        case (.double, .int32), (.double, .int64), (.double, .double): return value.doubleValue.map { .double($0) }
        case (.decimal, .int32), (.decimal, .int64):
            return Decimal128("\(value.int64Value ?? 0)").map { .decimal128($0) }
        case (.bool, .bool), (.string, .string), (.timestamp, .date), (.objectId, .objectId), (.decimal, .decimal128):
            return value
        case (.binary, .binary(let binary)): return binary.subtype == 4 ? nil : .binary(Binary(binary.bytes))
        case (.uuid, .binary(let binary)): return UUIDBytes(binary).map { .binary($0.binary) }
        case (.link, _):
            guard let target = type.target.flatMap({ classes[$0]?.key }), let id = ObjectKey.Id(value),
                target.accepts(id)
            else { return nil }
            return id.value
        default: return nil
        }
    }

    /// The depth up to which collections may be nested in mixed values, as in realm-core.
    private static let maximumDepth = 100

    private func mixed(_ value: Value, at path: String, depth: Int) throws(UnfitDocument) -> Value {
        guard depth <= Self.maximumDepth else { throw UnfitDocument(path, "collections are nested too deeply") }
        switch value {
        case .null, .bool, .int64, .double, .string, .objectId, .date, .decimal128: return value
        case .int32(let number): return .int64(Int64(number))
        case .binary(let binary): return .binary(UUIDBytes(binary)?.binary ?? Binary(binary.bytes))
        case .array(let elements):
            var read: [Value] = []
            for (index, value) in elements.enumerated() {
                read.append(try mixed(value, at: "\(path).\(index)", depth: depth + 1))
            }
            return .array(read)
        case .document(let entries):
            if let link = value.mixedLink {
                guard classes[ExactText(link.table)]?.key.map({ $0.accepts(link.id) }) ?? false else {
                    throw UnfitDocument(path, "a link to an unknown class")
                }
                return .mixedLink(link)
            }
            var read = Document()
            for field in entries.fields {
                read.put(try mixed(field.value, at: "\(path).\(field.key)", depth: depth + 1), at: field.key)
            }
            return .document(read)
        default: throw UnfitDocument(path, "a \(value.typeName) isn't a value of an object")
        }
    }
}
