import AppDefinition
import DocumentModel
import RealmSync
import Testing

/// Classes of Realm clients that development mode adds to an app.
struct AddedClassesTests {
    private static let developing = TinyApp.sync(#""development_mode_enabled": true,"#)

    private static func newer(_ sync: String = developing) -> AppFiles {
        var files = TinyApp.newer
        files.texts["sync/config.json"] = sync
        return files
    }

    private static var older: AppFiles {
        var files = TinyApp.older
        files.texts["services/mongodb-atlas/config.json"] = """
            {"name": "mongodb-atlas", "type": "mongodb-atlas",
             "config": {"clusterName": "Cluster0", "sync": \(developing)}}
            """
        return files
    }

    private static var note: ObjectSchema {
        var classes = ObjectSchema()
        classes.classes["Note"] = .init(key: .init(name: "_id", type: .objectId, isNullable: false))
        classes.classes["Note"]?.properties["text"] = .init(type: .string, isNullable: false)
        classes.classes["Note"]?.properties["tasks"] = .init(
            type: .link, isNullable: false, collection: .list, target: "Task")
        classes.classes["Task"] = .init(key: .init(name: "_id", type: .objectId, isNullable: false))
        classes.classes["Task"]?.properties["notes"] = .init(
            type: .link, isNullable: true, collection: .dictionary, target: "Note")
        return classes
    }

    private func add(_ classes: ObjectSchema, to files: AppFiles) throws -> (AppFiles, AppDefinition) {
        let (extended, _) = try files.adding(classes, to: try AppDefinition(files: files))
        return (extended, try AppDefinition(files: extended))
    }

    private func refusal(_ classes: ObjectSchema, _ files: AppFiles = newer()) throws -> String {
        let definition = try AppDefinition(files: files)
        do {
            _ = try files.adding(classes, to: definition)
            return ""
        } catch {
            return error.description
        }
    }

    @Test func `a class becomes a collection, and a property one of the schema`() throws {
        for (files, new, old) in [
            (Self.newer(), "data_sources/mongodb-atlas/Db/Note/schema.json", "data_sources/mongodb-atlas/Db/Task/"),
            (Self.older, "services/mongodb-atlas/rules/Db.Note.json", "services/mongodb-atlas/rules/Db.Task.json"),
        ] {
            let before = try AppDefinition(files: files).syncedClasses.schema
            let (extended, definition) = try add(Self.note, to: files)
            let schema = definition.syncedClasses.schema
            #expect(schema.includes(Self.note) && schema.includes(before))
            #expect(schema.names(beyond: before) == ["class Note", "property Task.notes"])
            let collection = try #require(definition.collection("Note", database: "Db", service: "mongodb-atlas"))
            #expect(definition.syncVerdict(of: collection) == .synced)
            #expect(collection.relationships.map(\.isList) == [true])
            #expect(extended[new] != nil)
            let changed = extended.texts.filter { files.texts[$0.key] != $0.value }.keys.map(\.text)
            #expect(changed.allSatisfy { $0 == new || $0.hasPrefix(old) || $0.contains("Note/relation") }, "\(changed)")
            // The rules of a collection stay what they were.
            #expect(
                definition.collection("Task", database: "Db", service: "mongodb-atlas")?.rules?.roles.count == 1)
            #expect(try add(Self.note, to: extended).0 == extended)
        }
    }

    @Test func `the files look as people write them`() throws {
        var classes = ObjectSchema()
        classes.classes["Note"] = .init(key: .init(name: "_id", type: .objectId, isNullable: false))
        classes.classes["Note"]?.properties["lines"] = .init(type: .string, isNullable: true, collection: .list)
        let (files, _) = try add(classes, to: Self.newer())
        #expect(
            files["data_sources/mongodb-atlas/Db/Note/schema.json"] == """
                {
                    "title": "Note",
                    "bsonType": "object",
                    "required": [
                        "_id",
                        "_partition"
                    ],
                    "properties": {
                        "_id": {
                            "bsonType": "objectId"
                        },
                        "_partition": {
                            "bsonType": "string"
                        },
                        "lines": {
                            "bsonType": "array",
                            "items": {
                                "bsonType": [
                                    "string",
                                    "null"
                                ]
                            }
                        }
                    }
                }

                """)
    }

    @Test func `without development mode nothing is added`() throws {
        #expect(try refusal(Self.note, Self.newer(TinyApp.sync())) == "the app isn't in development mode")
        let off = Self.developing.replacing(#""enabled""#, with: #""disabled""#)
        #expect(try refusal(Self.note, Self.newer(off)) == "the app isn't in development mode")
    }

    @Test func `a class can't make a collection sync`() throws {
        for file in ["schema.json", "rules.json"] {
            var files = Self.newer()
            files.texts[ExactText("data_sources/mongodb-atlas/Db/Note/\(file)")] =
                #"{"properties": {"_id": {"bsonType": "objectId"}}, "roles": []}"#.replacing(
                    file == "schema.json" ? #", "roles": []"# : #""properties": {"_id": {"bsonType": "objectId"}}, "#,
                    with: "")
            #expect(try refusal(Self.note, files).contains("has a collection Note that doesn't sync"))
        }
    }

    @Test func `what can't be a name of a file or field, and what contradicts, is refused`() throws {
        func named(_ name: String, _ field: String = "a") -> ObjectSchema {
            var classes = ObjectSchema()
            classes.classes[ExactText(name)] = .init(key: .init(name: "_id", type: .string, isNullable: false))
            classes.classes[ExactText(name)]?.properties[ExactText(field)] = .init(type: .int, isNullable: true)
            return classes
        }
        for name in ["../../functions/greet", "a/b", "a.b", "", " ", "a\u{0}", "$a", "sys tem", ".."] {
            #expect(try refusal(named(name)).contains("the name of a class"), "\(name)")
        }
        for field in ["", "a.b", "$set", "a\u{0}b"] {
            #expect(try refusal(named("A", field)).contains("the name of a property of A"), "\(field)")
        }
        #expect(try refusal(named(String(repeating: "A", count: 58))).contains("no schema can describe"))
        #expect(try refusal(named("Größe", "Ünï")) == "")

        var other = ObjectSchema()
        other.classes["Task"] = .init(key: .init(name: "_id", type: .objectId, isNullable: false))
        other.classes["Task"]?.properties["done"] = .init(type: .string, isNullable: true)
        #expect(try refusal(other).contains("of the same name that is different"))

        #expect(try refusal(named("TASK")).contains("differ only in case"))
        #expect(try refusal(named("A", "a\u{202E}b")).contains("the name of a property of A"))

        // The partition key with another type than the app's.
        var key = named("A")
        key.classes["A"]?.properties["_partition"] = .init(type: .int, isNullable: true)
        #expect(try refusal(key) == "no schema can describe class A")

        var many = ObjectSchema()
        for number in 0...200 {
            many.classes[ExactText("C\(number)")] = .init(key: .init(name: "_id", type: .string, isNullable: false))
        }
        #expect(try refusal(many).contains("more than 200 classes"))
    }
}
