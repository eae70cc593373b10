import DocumentModel
import RealmSync
import SyncEngine
import Testing
import Vectors

/// Schemas of collections made of a client's classes.
struct ObjectSchemaWriterTests {
    private static let partitionKey = PartitionKeyProperty(name: "_partition", type: "string", isRequired: true)

    private func lacking(
        _ schema: ObjectSchema, in collections: [CollectionClass] = []
    ) throws -> [CollectionClass] {
        try schema.lacking(in: collections, partitionKey: Self.partitionKey)
    }

    private func read(_ collections: [CollectionClass]) -> ObjectSchema {
        let (schema, unfit) = ObjectSchema.reading(collections)
        #expect(unfit.isEmpty, "\(unfit)")
        return schema
    }

    /// The classes without the partition key that the server has given them.
    private func withoutKey(_ schema: ObjectSchema, unless other: ObjectSchema) -> ObjectSchema {
        var schema = schema
        for (name, type) in schema.classes
        where type.key != nil && other.classes[name]?.properties["_partition"] == nil {
            #expect(type.properties["_partition"] == .init(type: .string, isNullable: false))
            schema.classes[name]?.properties["_partition"] = nil
        }
        return schema
    }

    @Test func `the classes that a real client declares are read again`() throws {
        let upload = try #require(try RecordedClient.uploads(in: "first-open").first)
        let classes = try ObjectSchema(made: try RealmSync.Changeset(upload.bytes("changeset")))
        #expect(withoutKey(read(try lacking(classes)), unless: classes) == classes)
    }

    @Test(arguments: 0..<200 as Range<UInt64>)
    func `random classes are read again, and what is added to them`(seed: UInt64) throws {
        var random = SeededGenerator(seed: seed)
        let first = Self.classes(&random), second = Self.classes(&random)
        let collections = try lacking(first)
        #expect(withoutKey(read(collections), unless: first) == first)
        #expect(try lacking(first, in: collections).isEmpty)
        guard let both = first.joined(with: second) else { return }
        let changed = try lacking(both, in: collections)
        let all =
            collections.filter { old in !changed.contains { $0.collection.hasSameBytes(as: old.collection) } } + changed
        #expect(read(all).includes(both))
    }

    /// Classes with properties of all kinds. What is embedded has a later letter, so that nothing is in itself.
    private static func classes(_ random: inout SeededGenerator) -> ObjectSchema {
        var schema = ObjectSchema()
        let keys: [PayloadType] = [.string, .int, .objectId, .uuid]
        let names = ["A", "B", "C", "D", "E", "F"].map { ExactText($0) }
        for (index, name) in names.enumerated() {
            // Of one name, always of the same kind, so that two schemas can be joined.
            schema.classes[name] = .init(
                key: index < 3 ? .init(name: "_id", type: keys[index], isNullable: index == 1) : nil)
        }
        let scalars: [PayloadType] = [
            .null, .int, .bool, .string, .binary, .timestamp, .float, .double, .decimal, .objectId, .uuid, .link,
        ]
        for (index, name) in names.enumerated() {
            for number in 0..<4 where Bool.random(using: &random) {
                let type = scalars.randomElement(using: &random) ?? .int
                let collection = [CollectionType.single, .list, .set, .dictionary].randomElement(using: &random)
                var property = ObjectSchema.Property(
                    type: type, isNullable: Bool.random(using: &random), collection: collection ?? .single)
                if type == .null { property.isNullable = true }
                if type == .link {
                    let embedded = names.suffix(from: max(3, index + 1)), tables = names.prefix(3)
                    let isEmbedded = Bool.random(using: &random) && !embedded.isEmpty
                    property.target = (isEmbedded ? embedded : tables).randomElement(using: &random)
                    property.isNullable = [.single, .dictionary].contains(property.collection)
                    if isEmbedded, property.collection == .set { property.collection = .list }
                }
                schema.classes[name]?.properties[ExactText("\(name.text.lowercased())\(number)")] = property
            }
        }
        // Only what some object has is described.
        while let unused = schema.classes.first(where: { name, type in
            type.key == nil
                && !schema.classes.values.contains { $0.properties.values.contains { $0.target == name } }
        }) {
            schema.classes[unused.key] = nil
        }
        return schema
    }

    @Test func `what a schema says already stays`() throws {
        let schema = try ExtendedJSON.parseDocument(
            """
            {"title": "Task", "bsonType": "object", "description": "work", "additionalProperties": false,
             "required": ["_id", "_partition", "name"],
             "properties": {"_id": {"bsonType": "string"}, "_partition": {"bsonType": "string"},
              "name": {"bsonType": "string", "minLength": 2},
              "steps": {"bsonType": "array", "items": {"title": "Step", "bsonType": "object",
               "properties": {"done": {"bsonType": "bool"}}}}}}
            """)
        let collections = [CollectionClass(collection: "tasks", schema: schema, relationships: [:])]
        var classes = read(collections)
        classes.classes["Step"]?.properties["by"] = .init(type: .string, isNullable: false)
        classes.classes["Task"]?.properties["next"] = .init(type: .link, isNullable: true, target: "Task")
        classes.classes["Task"]?.properties["count"] = .init(type: .int, isNullable: false)
        let written = try #require(try lacking(classes, in: collections).first)
        #expect(written.collection == "tasks" && written.relationships == ["next": "tasks"])
        let expected = try ExtendedJSON.parseDocument(
            """
            {"title": "Task", "bsonType": "object", "description": "work", "additionalProperties": false,
             "required": ["_id", "_partition", "name", "count"],
             "properties": {"_id": {"bsonType": "string"}, "_partition": {"bsonType": "string"},
              "name": {"bsonType": "string", "minLength": 2},
              "steps": {"bsonType": "array", "items": {"title": "Step", "bsonType": "object",
               "properties": {"done": {"bsonType": "bool"}, "by": {"bsonType": "string"}}, "required": ["by"]}},
              "count": {"bsonType": "long"}, "next": {"bsonType": "string"}}}
            """)
        #expect(written.schema == expected)
        #expect(read([written]) == classes)
    }

    @Test func `classes that no schema describes are refused`() throws {
        var itself = ObjectSchema()
        itself.classes["A"] = .init(key: .init(name: "_id", type: .string, isNullable: false))
        itself.classes["A"]?.properties["e"] = .init(type: .link, isNullable: true, target: "E")
        itself.classes["E"] = .init(key: nil)
        itself.classes["E"]?.properties["e"] = .init(type: .link, isNullable: false, collection: .list, target: "E")
        #expect(throws: UnwritableSchema(description: Self.inItself)) { try lacking(itself) }

        // Each class is embedded twice in the one before: 2^25 places.
        var doubling = ObjectSchema()
        for number in 0..<25 {
            let name = ExactText("C\(number)"), next = ExactText("C\(number + 1)")
            doubling.classes[name] = .init(
                key: number == 0 ? .init(name: "_id", type: .string, isNullable: false) : nil)
            for field in ["a", "b"] {
                doubling.classes[name]?.properties[ExactText(field)] = .init(
                    type: .link, isNullable: true, target: next)
            }
        }
        doubling.classes["C25"] = .init(key: nil)
        #expect(throws: UnwritableSchema.self) { try lacking(doubling) }

        var key = ObjectSchema()
        key.classes["A"] = .init(key: .init(name: "id", type: .string, isNullable: false))
        #expect(throws: UnwritableSchema.self) { try lacking(key) }
    }

    private static let inItself = "E is embedded in itself, which a collection's schema can't describe"
}
