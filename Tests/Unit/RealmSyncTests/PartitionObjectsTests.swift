import DocumentModel
import RealmSync
import Testing
import Vectors

struct PartitionObjectsTests {
    /// The objects after changesets.
    private static func objects(_ changesets: [[UInt8]]...) throws -> PartitionObjects {
        var objects = PartitionObjects()
        for changeset in changesets.joined() { try objects.apply(try Changeset(changeset)) }
        return objects
    }

    /// Both branches of a merge, each with the other's changesets in the form that follows it.
    private static func branches(of vector: Document) throws -> (PartitionObjects, PartitionObjects) {
        let base = [vector.bytes("schema")]
        func side(_ name: String) -> [[UInt8]] { vector.documents(name).map { $0.bytes("changeset") } }
        return (
            try objects(base, side("ours"), vector.byteArrays("theirs_after")),
            try objects(base, side("theirs"), vector.byteArrays("ours_after"))
        )
    }

    @Test func `a class with too many properties is refused, in linear time`() throws {
        func columns(_ count: Int) -> Changeset {
            var changeset = Changeset()
            let table = changeset.strings.intern("T".utf8), key = changeset.strings.intern("_id".utf8)
            changeset.instructions = [
                .addTable(table, .topLevel(PrimaryKeyColumn(field: key, type: .int, isNullable: false)))
            ]
            for number in 0..<count {
                changeset.instructions.append(
                    .addColumn(
                        table: table, field: changeset.strings.intern("p\(number)".utf8),
                        Column(type: .int, isNullable: true, collection: .single)))
            }
            return changeset
        }
        func time(_ count: Int) throws -> Duration {
            let changeset = columns(count)
            return try ContinuousClock().measure {
                var objects = PartitionObjects()
                try objects.apply(changeset)
            }
        }
        _ = try time(100)
        // Quadratic would be 64 times as long.
        #expect(try time(8000) < time(1000) * 40)
        #expect(throws: ApplyError.self) { try time(10_001) }
    }

    /// The vectors are those in which whole files of realm-core are equal after both branches.
    @Test func `after a merge both sides have the same objects, as with realm-core`() throws {
        let vectors = try RealmVectors.objects("transform.jsonl.gz").filter { $0["error"] == nil }
        #expect(vectors.count == 19_934)
        var failures: [String] = [], objects = 0
        for vector in vectors {
            let seed = vector.integer("seed")
            do {
                let (ours, theirs) = try Self.branches(of: vector)
                objects += ours.objects.count
                if !ours.isSame(as: theirs) { failures.append("\(seed): differ") }
            } catch {
                failures.append("\(seed): \(error)")
            }
        }
        #expect(failures.isEmpty, "\(failures.count): \(failures.prefix(10))")
        #expect(objects > 40_000)
    }

    /// In the others realm-core's own files differ, or can't be written.
    @Test func `where realm-core diverges the objects do, too`() throws {
        let vectors = try RealmVectors.objects("transform-diverging.jsonl.gz")
        var same = 0
        for vector in vectors {
            guard let (ours, theirs) = try? Self.branches(of: vector) else { continue }
            if ours.isSame(as: theirs) { same += 1 }
        }
        #expect(same < 60, "\(same) of \(vectors.count) don't")
    }
}

extension PartitionObjects {
    /// Whether the classes and objects are the same. The order of fields doesn't matter. In a mixed property, a link to an object that
    /// doesn't exist reads as null.
    func isSame(as other: PartitionObjects) -> Bool {
        guard schema == other.schema, objects.count == other.objects.count else { return false }
        return objects.allSatisfy { key, object in
            guard let match = other.objects[key] else { return false }
            return normal(object).isIdentical(to: other.normal(match))
        }
    }

    private func normal(_ object: Document) -> Document {
        Document(
            fields: object.fields.map { .init($0.key, normal($0.value)) }.filter { !$0.value.isNull }
                .sorted { ByteOrder.compare($0.key, $1.key) < 0 })
    }

    private func normal(_ value: Value) -> Value {
        switch value {
        case .document(let document):
            if let table = document["$ref"]?.stringValue, let id = document["$id"].flatMap({ ObjectKey.Id($0) }),
                objects[ObjectKey(table: table, id: id)] == nil
            {
                return .null
            }
            return .document(normal(document))
        case .array(let elements): return .array(elements.map(normal))
        default: return value
        }
    }
}
