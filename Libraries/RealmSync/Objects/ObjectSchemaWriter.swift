public import DocumentModel

/// Why classes of a client can't be in the schemas of an app's collections.
public struct UnwritableSchema: Error, Hashable, Sendable, CustomStringConvertible {
    public let description: String

    public init(description: String) { self.description = description }
}

extension ObjectSchema {
    /// The collections whose schemas lack something of the classes, with it, and new ones for classes that no collection has: the inverse of
    /// ``reading(_:)``. What a schema says already stays.
    /// - Parameters:
    ///   - collections: Those that sync.
    ///   - partitionKey: The field with each document's partition, which new schemas get, too.
    /// - Throws: ``UnwritableSchema`` for a class that is embedded in itself, which no JSON schema describes, or too often in others, and for a
    ///   primary key that isn't `_id`.
    public func lacking(
        in collections: [CollectionClass], partitionKey: PartitionKeyProperty
    ) throws(UnwritableSchema) -> [CollectionClass] {
        var lacking: [CollectionClass] = []
        let names = Dictionary(collections.map { (ExactText($0.name), $0.collection) }) { first, _ in first }
        for (name, type) in classes.sorted(by: { $0.key < $1.key }) {
            guard let key = type.key else { continue }
            guard key.name.hasSameBytes(as: "_id") else {
                throw UnwritableSchema(description: "the primary key of \(name) must be named _id, not \(key.name)")
            }
            let known = collections.first { $0.name.hasSameBytes(as: name.text) }
            var writer = ObjectSchemaWriter(classes: self, collections: names)
            var collection = known ?? writer.collection(name.text, key, partitionKey)
            writer.relationships = collection.relationships
            collection.schema = try writer.completed(collection.schema, as: type, at: "", inside: [])
            collection.relationships = writer.relationships
            if known == nil || writer.hasWritten { lacking.append(collection) }
        }
        return lacking
    }
}

/// The property that has the partition of each document.
public struct PartitionKeyProperty: Sendable {
    @ExactText public var name: String
    /// As `bsonType` in a schema.
    public var type: String
    /// Whether every document has it.
    public var isRequired: Bool

    public init(name: String, type: String, isRequired: Bool) {
        self.type = type
        self.isRequired = isRequired
        self.name = name
    }
}

private struct ObjectSchemaWriter {
    let classes: ObjectSchema
    /// The names of collections by those of their classes.
    let collections: [ExactText: String]
    var relationships: [ExactText: ExactText] = [:]
    private(set) var hasWritten = false
    /// Embedded objects are described wherever they are: a class in another one twice, and that in a third one twice, doubles with each.
    private var visits = 0
    private static let maximumVisits = 5000

    init(classes: ObjectSchema, collections: [ExactText: String]) {
        self.classes = classes
        self.collections = collections
    }

    /// A collection with nothing but the keys.
    func collection(_ name: String, _ key: ObjectSchema.Key, _ partitionKey: PartitionKeyProperty) -> CollectionClass {
        var required: [Value] = key.isNullable ? [] : [.string(key.name)]
        var properties: Document = [key.name: ["bsonType": .string(Self.typeName(key.type))]]
        let declared = classes.classes[ExactText(name)]?.properties[ExactText(partitionKey.name)]
        if declared == nil {
            properties[partitionKey.name] = ["bsonType": .string(partitionKey.type)]
            if partitionKey.isRequired { required.append(.string(partitionKey.name)) }
        }
        return CollectionClass(
            collection: name,
            schema: [
                "title": .string(name), "bsonType": "object", "required": .array(required),
                "properties": .document(properties),
            ], relationships: [:])
    }

    /// An object's schema with all properties of a class.
    /// - Parameters:
    ///   - path: Where it is, as relationships name it.
    ///   - owners: The classes in which the object is embedded.
    mutating func completed(
        _ node: Document, as type: ObjectSchema.Class, at path: String, inside owners: Set<ExactText>
    ) throws(UnwritableSchema) -> Document {
        var node = node
        var properties = node["properties"]?.documentValue ?? Document(), required = node["required"]?.arrayValue ?? []
        visits += type.ordered.count
        guard visits <= Self.maximumVisits else {
            throw UnwritableSchema(
                description: "the embedded objects of a class have more than \(Self.maximumVisits) properties together")
        }
        for (field, property) in type.ordered {
            let place = path.isEmpty ? field : "\(path).\(field)"
            if let known = properties[field]?.documentValue {
                properties[field] = .document(try completed(known, as: property, at: place, inside: owners))
                continue
            }
            hasWritten = true
            properties[field] = .document(try new(property, at: place, inside: owners))
            if property.collection == .single, !property.isNullable { required.append(.string(field)) }
        }
        node["properties"] = .document(properties)
        if !required.isEmpty { node["required"] = .array(required) }
        return node
    }

    /// A known property: only objects that are embedded in it may lack something.
    private mutating func completed(
        _ node: Document, as property: ObjectSchema.Property, at path: String, inside owners: Set<ExactText>
    ) throws(UnwritableSchema) -> Document {
        guard let (target, type) = embedded(in: property) else { return node }
        let inner = try owners.adding(target)
        let keyword: String
        switch property.collection {
        case .single: return try completed(node, as: type, at: path, inside: inner)
        case .dictionary: keyword = "additionalProperties"
        default: keyword = "items"
        }
        guard let element = node[keyword]?.documentValue else { return node }
        var node = node
        node[keyword] = .document(try completed(element, as: type, at: path, inside: inner))
        return node
    }

    private mutating func new(
        _ property: ObjectSchema.Property, at path: String, inside owners: Set<ExactText>
    ) throws(UnwritableSchema) -> Document {
        let element = try self.element(property, at: path, inside: owners)
        return switch property.collection {
        case .single: element
        case .list: ["bsonType": "array", "items": .document(element)]
        case .set: ["bsonType": "array", "uniqueItems": true, "items": .document(element)]
        case .dictionary: ["bsonType": "object", "additionalProperties": .document(element)]
        }
    }

    private mutating func element(
        _ property: ObjectSchema.Property, at path: String, inside owners: Set<ExactText>
    ) throws(UnwritableSchema) -> Document {
        // A single property that is null has no field.
        let allowsNull = property.collection != .single && property.isNullable
        func type(_ name: String) -> Value { allowsNull && name != "mixed" ? [.string(name), "null"] : .string(name) }
        if let (target, embedded) = embedded(in: property) {
            let empty: Document = ["title": .string(target.text), "bsonType": type("object"), "properties": [:]]
            return try completed(empty, as: embedded, at: path, inside: try owners.adding(target))
        }
        guard property.type == .link else { return ["bsonType": type(Self.typeName(property.type))] }
        guard let target = property.target, let key = classes.classes[target]?.key else {
            throw UnwritableSchema(description: "\(path) leads to a class that there isn't")
        }
        relationships[ExactText(path)] = ExactText(collections[target] ?? target.text)
        return ["bsonType": type(Self.typeName(key.type))]
    }

    private func embedded(in property: ObjectSchema.Property) -> (name: ExactText, type: ObjectSchema.Class)? {
        guard property.type == .link, let target = property.target, let type = classes.embedded(in: property) else {
            return nil
        }
        return (target, type)
    }

    private static func typeName(_ type: PayloadType) -> String {
        switch type {
        case .int: "long"
        case .bool: "bool"
        case .string: "string"
        case .binary: "binData"
        case .timestamp: "date"
        case .float: "float"
        case .double: "double"
        case .decimal: "decimal"
        case .objectId: "objectId"
        case .uuid: "uuid"
        default: "mixed"
        }
    }
}

extension Set<ExactText> {
    fileprivate func adding(_ name: ExactText) throws(UnwritableSchema) -> Set {
        guard !contains(name) else {
            throw UnwritableSchema(
                description: "\(name) is embedded in itself, which a collection's schema can't describe")
        }
        return union([name])
    }
}
