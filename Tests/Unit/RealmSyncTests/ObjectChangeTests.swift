import DocumentModel
import RealmSync
import Testing
import Vectors

struct ObjectChangeTests {
    /// Many edits of one collection took time by their square; they came as one small message.
    @Test func `edits of a collection cost the same however large it is`() throws {
        func seconds(
            _ count: Int, _ edit: (inout Changeset, Int) -> Edit, _ element: (inout Changeset, Int) -> PathElement?,
            field: String
        ) throws -> Double {
            var schema = ObjectSchema(),
                type = ObjectSchema.Class(key: .init(name: "_id", type: .int, isNullable: false))
            type.properties = [
                "list": .init(type: .int, isNullable: false, collection: .list),
                "set": .init(type: .int, isNullable: false, collection: .set),
                "map": .init(type: .int, isNullable: false, collection: .dictionary),
            ]
            schema.classes["A"] = type
            var objects = PartitionObjects(schema: schema, objects: [ObjectKey(table: "A", id: .int(1)): [:]])
            var changeset = Changeset()
            let table = changeset.strings.intern(Array("A".utf8)), name = changeset.strings.intern(Array(field.utf8))
            for index in 0..<count {
                let path = Path(
                    table: table, key: .int(1), field: name, elements: [element(&changeset, index)].compactMap(\.self))
                changeset.instructions.append(.edit(path, edit(&changeset, index)))
            }
            return try ContinuousClock().measure { try objects.apply(changeset) } / .seconds(1)
        }
        func ratio(_ measure: (Int) throws -> Double) rethrows -> Double {
            let small = try (0..<3).map { _ in try measure(1_000) }.min() ?? 0
            let large = try (0..<3).map { _ in try measure(8_000) }.min() ?? 0
            return large / small
        }
        let list = try ratio { count in
            try seconds(
                count, { _, index in .arrayInsert(.int(1), priorSize: UInt32(index)) },
                { _, index in .index(UInt32(index)) }, field: "list")
        }
        let set = try ratio { count in
            try seconds(count, { _, index in .setInsert(.int(Int64(index))) }, { _, _ in nil }, field: "set")
        }
        let map = try ratio { count in
            try seconds(
                count, { _, index in .update(.int(1), isDefault: false) },
                { changeset, index in .key(changeset.strings.intern(Array("k\(100_000 + index)".utf8))) }, field: "map")
        }
        // Eight times as many: eight times as long, and not 64 times.
        #expect(list < 32 && set < 32 && map < 32, "\(list), \(set), \(map)")
    }

    @Test func `a changeset that moves too much is refused`() throws {
        var schema = ObjectSchema(), type = ObjectSchema.Class(key: .init(name: "_id", type: .int, isNullable: false))
        type.properties = ["list": .init(type: .int, isNullable: false, collection: .list)]
        schema.classes["A"] = type
        var objects = PartitionObjects(schema: schema, objects: [ObjectKey(table: "A", id: .int(1)): [:]])
        var changeset = Changeset()
        let table = changeset.strings.intern(Array("A".utf8)), name = changeset.strings.intern(Array("list".utf8))
        let first = Path(table: table, key: .int(1), field: name, elements: [.index(0)])
        for size in 0..<30_000 {
            changeset.instructions.append(.edit(first, .arrayInsert(.int(1), priorSize: UInt32(size))))
        }
        let error = #expect(throws: ApplyError.self) { try objects.apply(changeset) }
        #expect(error?.code == .tooMuchWork)
    }

    /// The states of the vectors, in which everything occurs that objects can have, changed into each other.
    @Test func `a change of objects is the changeset that changes them so`() throws {
        let vectors = try RealmVectors.objects("transform.jsonl.gz").filter { $0["error"] == nil }
        var failures: [String] = [], instructions = 0
        for vector in vectors.prefix(8_000) {
            let seed = vector.integer("seed")
            var base = PartitionObjects()
            try base.apply(try Changeset(vector.bytes("schema")))
            var target = base
            do {
                for changeset in vector.documents("ours") {
                    try target.apply(try Changeset(changeset.bytes("changeset")))
                }
            } catch { continue }
            guard target.schema == base.schema else { continue }
            for (from, to) in [(base, target), (target, base), (PartitionObjects(schema: base.schema), target)] {
                let keys = Set(from.objects.keys).union(to.objects.keys)
                var changed = from, replica = from
                let changeset = changed.change(keys.map { ($0, to.objects[$0]) })
                instructions += changeset.instructions.count
                do {
                    // Over the wire.
                    try replica.apply(try Changeset(changeset.encoded()))
                    if !replica.isSame(as: to) || !changed.isSame(as: to) { failures.append("\(seed): differ") }
                } catch {
                    failures.append("\(seed): \(error)")
                }
                if !changed.change(keys.map { ($0, to.objects[$0]) }).instructions.isEmpty {
                    failures.append("\(seed): changes again")
                }
            }
        }
        #expect(failures.isEmpty, "\(failures.count): \(failures.prefix(10))")
        #expect(instructions > 20_000)
    }
}
