import DocumentModel
import RealmSync
import SyncEngine
import Testing
import Vectors

struct TransformerTests {
    /// A side of a vector.
    private static func side(_ vector: Document, _ name: String) throws -> [MergedChangeset] {
        try vector.documents(name).map { changeset in
            MergedChangeset(
                try Changeset(changeset.bytes("changeset")),
                origin: ChangesetOrigin(
                    timestamp: UInt64(changeset.integer("origin_timestamp")),
                    fileIdent: UInt64(changeset.integer("origin_file_ident"))))
        }
    }

    /// The seeds of the vectors that don't end as realm-core's merge does.
    private static func failures(_ name: String, count: Int) throws -> [String] {
        let vectors = try RealmVectors.objects(name)
        #expect(vectors.count == count)
        return try vectors.compactMap { vector in
            var (theirs, ours) = (try side(vector, "theirs"), try side(vector, "ours"))
            let seed = vector.integer("seed")
            var transformer = Transformer()
            do throws(TransformError) {
                try transformer.merge(history: &theirs, incoming: &ours)
            } catch {
                return vector["error"] == nil ? "\(seed): \(error)" : nil
            }
            if let error = vector["error"]?.stringValue { return "\(seed): not refused: \(error)" }
            let isSame =
                ours.map { $0.changeset.encoded() } == vector.byteArrays("ours_after")
                && theirs.map { $0.changeset.encoded() } == vector.byteArrays("theirs_after")
            return isSame ? nil : "\(seed)"
        }
    }

    @Test func `concurrent changesets are merged as realm-core does`() throws {
        let failures = try Self.failures("transform.jsonl.gz", count: 20_000)
        #expect(failures.isEmpty, "\(failures.count) of 20,000: \(failures.prefix(20))")
    }

    @Test func `where realm-core diverges the result is the same`() throws {
        let failures = try Self.failures("transform-diverging.jsonl.gz", count: 843)
        #expect(failures.isEmpty, "\(failures.count) of 843: \(failures.prefix(20))")
    }

    /// A server that integrates each upload by itself stores what others have done in its new form, and reads it again for the next.
    @Test func `uploads one by one end as realm-core's do`() throws {
        let vectors = try RealmVectors.objects("transform.jsonl.gz").filter { $0["error"] == nil }
        var others = 0
        for vector in vectors where vector.documents("ours").count > 1 {
            var (theirs, ours) = (try Self.side(vector, "theirs"), try Self.side(vector, "ours"))
            var transformer = Transformer()
            for place in ours.indices {
                var upload = [ours[place]]
                try transformer.merge(history: &theirs, incoming: &upload)
                ours[place] = upload[0]
                theirs = try theirs.map {
                    $0.isModified ? MergedChangeset(try Changeset($0.changeset.encoded()), origin: $0.origin) : $0
                }
            }
            let expected = vector["one_by_one"]?.documentValue ?? vector
            if vector["one_by_one"] != nil { others += 1 }
            #expect(
                ours.map { $0.changeset.encoded() } == expected.byteArrays("ours_after"), "\(vector.integer("seed"))")
            #expect(
                theirs.map { $0.changeset.encoded() } == expected.byteArrays("theirs_after"),
                "\(vector.integer("seed"))")
        }
        #expect(others == 3)
    }

    /// A client merges with the sides exchanged.
    @Test(arguments: [("transform.jsonl.gz", 20_000), ("transform-diverging.jsonl.gz", 843)])
    func `client and server come to the same changesets`(name: String, count: Int) throws {
        let vectors = try RealmVectors.objects(name)
        #expect(vectors.count == count)
        for vector in vectors {
            var (theirs, ours) = (try Self.side(vector, "theirs"), try Self.side(vector, "ours"))
            let seed = vector.integer("seed")
            var transformer = Transformer()
            do throws(TransformError) {
                try transformer.merge(history: &ours, incoming: &theirs)
                #expect(vector["error"] == nil, "\(seed)")
                #expect(ours.map { $0.changeset.encoded() } == vector.byteArrays("ours_after"), "\(seed)")
                #expect(theirs.map { $0.changeset.encoded() } == vector.byteArrays("theirs_after"), "\(seed)")
            } catch {
                #expect(vector["error"] != nil, "\(seed): \(error)")
            }
        }
    }

    @Test(arguments: 1...3 as ClosedRange<UInt64>)
    func `merging mutations ends in changesets or an error`(seed: UInt64) throws {
        var generator = SeededGenerator(seed: seed), merged = 0
        func mutated(_ changesets: [Document]) -> [MergedChangeset] {
            changesets.compactMap { changeset in
                var bytes = changeset.bytes("changeset")
                for _ in 0..<Int.random(in: 0...2, using: &generator) where !bytes.isEmpty {
                    // A few bits, or a number at an end of its range.
                    let place = Int.random(in: 0..<bytes.count, using: &generator)
                    if Bool.random(using: &generator) {
                        bytes[place] ^= 1 << UInt8.random(in: 0..<7, using: &generator)
                    } else {
                        bytes.replaceSubrange(place...place, with: [0xFF, 0xFF, 0xFF, 0xFF, 0x0F])
                    }
                }
                let origin = ChangesetOrigin(
                    timestamp: UInt64(changeset.integer("origin_timestamp")),
                    fileIdent: UInt64(changeset.integer("origin_file_ident")))
                return (try? Changeset(bytes)).map { MergedChangeset($0, origin: origin) }
            }
        }
        for vector in try RealmVectors.objects("transform.jsonl.gz").shuffled(using: &generator).prefix(4000) {
            var (theirs, ours) = (mutated(vector.documents("theirs")), mutated(vector.documents("ours")))
            var transformer = Transformer()
            do throws(TransformError) {
                try transformer.merge(history: &theirs, incoming: &ours)
            } catch {
                #expect(error.code != .tooMuchWork)
                continue
            }
            merged += 1
            for side in theirs + ours {
                let encoded = side.changeset.encoded()
                #expect(try Changeset(encoded).encoded() == encoded)
            }
        }
        #expect(merged > 1000)
    }

    /// Many edits of one list on both sides.
    private static func edits(_ count: Int, fileIdent: UInt64) -> MergedChangeset {
        var changeset = Changeset()
        let (table, field) = (changeset.strings.intern("T".utf8), changeset.strings.intern("list".utf8))
        for size in 0..<UInt32(count) {
            let path = Path(table: table, key: .int(1), field: field, elements: [.index(0)])
            changeset.instructions.append(.edit(path, .arrayInsert(.int(7), priorSize: size)))
        }
        return MergedChangeset(changeset, origin: ChangesetOrigin(timestamp: 1, fileIdent: fileIdent))
    }

    @Test func `a merge that needs too much work is refused`() throws {
        var (history, incoming) = ([Self.edits(3000, fileIdent: 2)], [Self.edits(3000, fileIdent: 3)])
        let before = [history[0].changeset.encoded(), incoming[0].changeset.encoded()]
        var transformer = Transformer()
        let error = #expect(throws: TransformError.self) {
            try transformer.merge(history: &history, incoming: &incoming)
        }
        #expect(error?.code == .tooMuchWork)
        #expect(transformer.budget == 0)
        #expect([history[0].changeset.encoded(), incoming[0].changeset.encoded()] == before)
        // What one side has erased costs time until its end, too.
        var erasing = [Self.edits(5000, fileIdent: 2)]
        let table = erasing[0].changeset.strings.intern("T".utf8)
        erasing[0].changeset.instructions.insert(.eraseObject(table: table, .int(1)), at: 0)
        var erased = [Self.edits(5000, fileIdent: 3)]
        transformer = Transformer()
        #expect(throws: TransformError.self) { try transformer.merge(history: &erasing, incoming: &erased) }
        transformer = Transformer(budget: 10_000_000)
        try transformer.merge(history: &history, incoming: &incoming)
        // On each side a changeset with two strings, and 3,000 instructions.
        #expect(transformer.budget == 10_000_000 - 9_000_000 - 2 * 3003)
    }

    /// A new client sends the whole schema, which the history has, too.
    @Test func `the cost of a schema that both sides add grows with its size, not with its square`() throws {
        func schema(fileIdent: UInt64) -> MergedChangeset {
            var changeset = Changeset()
            for number in 0..<100 {
                let table = changeset.strings.intern("class\(number)".utf8)
                let key = PrimaryKeyColumn(
                    field: changeset.strings.intern("_id".utf8), type: .int, isNullable: false)
                changeset.instructions.append(.addTable(table, .topLevel(key)))
                for property in 0..<100 {
                    let field = changeset.strings.intern("property\(property)".utf8)
                    changeset.instructions.append(
                        .addColumn(table: table, field: field, Column(type: .int, isNullable: false)))
                }
            }
            return MergedChangeset(changeset, origin: ChangesetOrigin(timestamp: 1, fileIdent: fileIdent))
        }
        var (history, incoming) = ([schema(fileIdent: 2)], [schema(fileIdent: 3)])
        var transformer = Transformer(budget: 50_000)
        try transformer.merge(history: &history, incoming: &incoming)
        #expect(history[0].changeset.instructions.isEmpty)
        #expect(incoming[0].changeset.instructions.isEmpty)
    }
}
