import BenchmarkRunner
import DocumentModel
import Foundation
import RealmSync

/// Changesets as apps with the Realm SDKs make them.
struct RealmChanges {
    private let schema: ObjectSchema

    /// Those of the benchmarks' app.
    init() throws {
        let collections = try [Note.collection, Card.collection].map { name in
            let file = "Tests/Benchmarks/App/data_sources/mongodb-atlas/Bench/\(name)/schema.json"
            return CollectionClass(
                collection: name,
                schema: try ExtendedJSON.parseDocument(Array(try Data(contentsOf: URL(fileURLWithPath: file)))),
                relationships: [:])
        }
        schema = ObjectSchema.reading(collections).schema
    }

    /// A transaction that makes objects.
    func insert(_ documents: [Document], into collection: String) throws -> [UInt8] {
        var objects = PartitionObjects(schema: schema)
        return objects.change(try documents.map { try schema.object(of: $0, table: collection) }).encoded()
    }

    /// A transaction that writes a card's number and inserts a first tag.
    /// - Parameter tags: how many it has.
    func write(_ number: Int64, of card: String, tags: Int) -> [UInt8] {
        var changeset = RealmSync.Changeset()
        func name(_ text: String) -> InternString { changeset.strings.intern(Array(text.utf8)) }
        var path = Path(table: name(Card.collection), key: .string(name(card)), field: name("number"))
        changeset.instructions.append(.edit(path, .update(.int(number), isDefault: false)))
        path.field = name("tags")
        path.elements = [.index(0)]
        let tag = changeset.strings.append("tag-\(number)".utf8)
        changeset.instructions.append(.edit(path, .arrayInsert(.string(tag), priorSize: UInt32(tags))))
        return changeset.encoded()
    }
}
