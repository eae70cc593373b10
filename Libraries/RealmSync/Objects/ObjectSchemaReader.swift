import DocumentModel

extension ObjectSchema {
    /// The classes that the schemas of an app's collections describe.
    ///
    /// A nested object with a title is embedded, of the class of that name; without one it is named by the class and the property that it
    /// is in. An array is a list, or with `uniqueItems` a set; an object without properties is a dictionary; a property with a relationship is
    /// a link. A property that isn't required may be null.
    /// - Returns: The classes, and what of the schemas isn't in them.
    public static func reading(_ collections: [CollectionClass]) -> (schema: ObjectSchema, unfit: [UnfitSchema]) {
        var reader = ObjectSchemaReader(collections: collections)
        reader.read()
        return (reader.schema, reader.unfit)
    }
}

private struct ObjectSchemaReader {
    let collections: [CollectionClass]
    var schema = ObjectSchema()
    var unfit: [UnfitSchema] = []

    private var present: CollectionClass
    /// Nesting that no schema of an app has.
    private static let maximumDepth = 20

    init(collections: [CollectionClass]) {
        self.collections = collections
        present = CollectionClass(collection: "", schema: Document(), relationships: [:])
    }

    mutating func read() {
        for collection in collections {
            present = collection
            guard schema.classes[ExactText(collection.name)] == nil else {
                report(.whole, "there is another class \(collection.name)")
                continue
            }
            guard isFit(collection.name, ofClass: true, at: .whole) else { continue }
            let properties = collection.schema["properties"]?.documentValue ?? Document()
            guard let id = properties["_id"]?.documentValue else {
                report(.whole, "the schema has no property _id, which Realm's objects need")
                continue
            }
            guard let type = Self.keyTypes[Self.typeName(id) ?? ""] else {
                report(
                    SchemaPlace.whole.property("_id"), "a primary key is a string, an integer, an ObjectId or a UUID")
                continue
            }
            let isRequired = Self.required(collection.schema).contains("_id")
            schema.classes[ExactText(collection.name)] = .init(
                key: .init(name: "_id", type: type, isNullable: !isRequired))
        }
        for collection in collections where schema.classes[ExactText(collection.name)]?.properties.isEmpty == true {
            present = collection
            let properties = self.properties(of: collection.schema, name: collection.name, at: .whole, depth: 0)
            schema.classes[ExactText(collection.name)]?.properties = properties
        }
    }

    private mutating func report(_ place: SchemaPlace, _ message: String) {
        unfit.append(UnfitSchema(present.collection, place, message))
    }

    /// realm-core names a table by its class with 6 more bytes, and has 63 for the name of a table or a column.
    private mutating func isFit(_ name: String, ofClass: Bool = false, at place: SchemaPlace) -> Bool {
        let limit = ofClass ? 57 : 63
        if name.utf8.count <= limit { return true }
        report(place, "the name \(name) is longer than the \(limit) bytes that the Realm SDKs allow")
        return false
    }

    private static let keyTypes: [String: PayloadType] = [
        "string": .string, "int": .int, "long": .int, "objectId": .objectId, "uuid": .uuid,
    ]

    private static let types: [String: PayloadType] = [
        "string": .string, "int": .int, "long": .int, "integer": .int, "bool": .bool, "boolean": .bool,
        "date": .timestamp,
        "double": .double, "number": .double, "float": .float, "decimal": .decimal, "objectId": .objectId,
        "objectid": .objectId, "uuid": .uuid, "binData": .binary, "binary": .binary, "mixed": .null,
    ]

    private static func typeName(_ node: Document) -> String? {
        switch node["bsonType"] ?? node["type"] {
        case .string(let name): name
        // A type or null.
        case .array(let names)?: names.compactMap(\.stringValue).first { $0 != "null" }
        default: nil
        }
    }

    private static func allowsNull(_ node: Document) -> Bool {
        (node["bsonType"] ?? node["type"])?.arrayValue?.contains { $0.stringValue == "null" } ?? false
    }

    private static func required(_ node: Document) -> Set<ExactText> {
        Set((node["required"]?.arrayValue ?? []).compactMap { $0.stringValue.map { ExactText($0) } })
    }

    private mutating func properties(
        of node: Document, name: String, at parent: SchemaPlace, depth: Int
    ) -> [ExactText: ObjectSchema.Property] {
        var found: [ExactText: ObjectSchema.Property] = [:]
        let required = Self.required(node)
        for field in (node["properties"]?.documentValue ?? Document()).fields
        where !(parent.path.isEmpty && field.key == "_id") {
            let place = parent.property(field.key)
            guard isFit(field.key, at: place), let property = field.value.documentValue else { continue }
            let isNullable = !required.contains(ExactText(field.key)) || Self.allowsNull(property)
            found[ExactText(field.key)] =
                self.property(
                    property, isNullable: isNullable, owner: name, field: field.key, at: place, depth: depth
                )?.withRealmsNullability
        }
        return found
    }

    private mutating func property(
        _ node: Document, isNullable: Bool, owner: String, field: String, at place: SchemaPlace, depth: Int
    ) -> ObjectSchema.Property? {
        if depth > Self.maximumDepth {
            report(place, "objects are nested too deeply")
            return nil
        }
        switch Self.typeName(node) {
        case "array":
            guard let items = node["items"]?.documentValue else {
                report(place, "the elements of a list need a type")
                return nil
            }
            var element = element(
                items, isNullable: Self.allowsNull(items), owner: owner, field: field, at: place.elements, depth: depth)
            element?.collection = node["uniqueItems"]?.boolValue == true ? .set : .list
            return element
        case "object" where Self.isDictionary(node):
            let values = node["additionalProperties"]?.documentValue
            var element = element(
                values ?? Document(), isNullable: values.map(Self.allowsNull) ?? true, owner: owner, field: field,
                at: place.values, depth: depth)
            element?.collection = .dictionary
            return element
        default:
            return element(node, isNullable: isNullable, owner: owner, field: field, at: place, depth: depth)
        }
    }

    /// Whether an object has values of its writers' own names only.
    private static func isDictionary(_ node: Document) -> Bool {
        guard let properties = node["properties"]?.documentValue else { return true }
        return properties.fields.isEmpty && node["additionalProperties"]?.documentValue != nil
    }

    /// A single value, or an element of a collection.
    private mutating func element(
        _ node: Document, isNullable: Bool, owner: String, field: String, at place: SchemaPlace, depth: Int
    ) -> ObjectSchema.Property? {
        // Those of elements may be named with their place.
        let relationships = present.relationships, path = place.path
        let named = [path, "\(path).[]", "\(path).%"].compactMap { relationships[ExactText($0)] }.first
        if let target = named {
            guard let other = collections.first(where: { $0.collection.hasSameBytes(as: target.text) }),
                schema.classes[ExactText(other.name)] != nil
            else {
                report(place, "the relationship leads to no class")
                return nil
            }
            return .init(type: .link, isNullable: isNullable, target: ExactText(other.name))
        }
        let name = Self.typeName(node)
        if name == "object" {
            if Self.isDictionary(node) { return .mixed }
            let title = node["title"]?.stringValue.flatMap { $0.isEmpty ? nil : $0 } ?? "\(owner)_\(field)"
            let type = embedded(node, title, at: place, depth: depth)
            return type.map { .init(type: .link, isNullable: isNullable, target: $0) }
        }
        guard let name else { return .mixed }
        guard let type = Self.types[name] else {
            report(place, "the Realm SDKs have no type \(name)")
            return nil
        }
        return .init(type: type, isNullable: isNullable || type == .null)
    }

    private mutating func embedded(_ node: Document, _ title: String, at place: SchemaPlace, depth: Int) -> ExactText? {
        guard isFit(title, ofClass: true, at: place) else { return nil }
        let properties = self.properties(of: node, name: title, at: place, depth: depth + 1)
        var type = schema.classes[ExactText(title)] ?? ObjectSchema.Class(key: nil)
        // The same class may be in several places, and not everywhere with all of its properties.
        guard type.key == nil, properties.allSatisfy({ type.properties[$0.key, default: $0.value] == $0.value })
        else {
            report(place, "there is another class \(title)")
            return nil
        }
        type.properties.merge(properties) { known, _ in known }
        schema.classes[ExactText(title)] = type
        return ExactText(title)
    }
}

extension ObjectSchema.Property {
    /// The property as the SDKs declare it, who leave no choice for mixed values, links and embedded objects: these may be null, except
    /// as elements of lists and sets.
    fileprivate var withRealmsNullability: ObjectSchema.Property {
        var property = self
        if type == .null { property.isNullable = true }
        if type == .link { property.isNullable = collection == .single || collection == .dictionary }
        return property
    }
}
