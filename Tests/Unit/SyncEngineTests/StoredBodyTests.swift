import DocumentModel
import SyncEngine
import Testing

/// Every reader must be able to read what is stored.
struct StoredBodyTests {
    /// Documents whose texts would be read as something else, with the path of the cause.
    static let misread: [(document: Document, path: String)] = [
        (["_id": 1, "x": ["$date": "never"]], "x.$date"), (["_id": 1, "x": ["$numberInt": "9"]], "x.$numberInt"),
        (["_id": 1, "x": [1, ["$oid": "no"]]], "x.1.$oid"), (["_id": 1, "x": ["b": 1, "$minKey": 1]], "x.$minKey"),
        (["$date": "never", "_id": 1], "$date"), (["_id": 1, "$numberLong": "1"], "$numberLong"),
        (["_id": 1, "x": ["$regex": "a", "$options": "i"]], "x.$regex"),
        (["_id": 1, "x": ["$type": "00", "$binary": "AAAA"]], "x.$binary"),
        (["_id": 1, "x": .code(Code("f", scope: ["y": ["$undefined": true]]))], "x.y.$undefined"),
    ]

    @Test func `a document that would be read as another one isn't stored`() {
        for (document, path) in Self.misread {
            #expect(throws: StorageRefusal.isMisread(path: path), "\(document)") { try document.storedBody() }
        }
    }

    /// The names that mark types in Extended JSON, as it is printed, and those of version 1, which are also read.
    @Test func `no name of a type can be the name of a field`() throws {
        let values: [Value] = [
            .objectId(ObjectId()), .int32(1), .int64(1), .double(1), .decimal128(.nan), .date(1), .binary(Binary([1])),
            .timestamp(Timestamp(seconds: 1, increment: 1)), .regex(RegularExpression("a")), .symbol("a"),
            .code(Code("f")), .dbPointer(DBPointer(namespace: "a", id: ObjectId())), .minKey, .maxKey, .undefined,
        ]
        let printed = values.map { String(ExtendedJSON.print($0).dropFirst(2).prefix { $0 != "\"" }) }
        #expect(Set(printed).count == values.count)
        for name in printed + ["$uuid"] {
            #expect(throws: StorageRefusal.isMisread(path: "x.\(name)")) {
                try (["_id": 1, "x": .document(Document(fields: [.init("a", 1), .init(name, 1)]))] as Document)
                    .storedBody()
            }
        }
    }

    @Test func `a document with a dollar that reads back as it is is stored`() throws {
        for document: Document in [
            ["_id": 1, "x": ["$ref": "a", "$id": 1, "$db": "b"]], ["_id": 1, "x": ["$regex": "a"]],
            ["_id": 1, "x": ["$type": 2]], ["_id": 1, "x": ["$gt": 5, "$scope": 1]], ["_id": 1, "$x": [:]],
            ["_id": .date(5), "x": [.binary(Binary([1])), .minKey, .undefined]],
        ] {
            #expect(try ExtendedJSON.parseDocument(document.storedBody()) == document)
        }
    }

    @Test func `a document has a hundred levels, and can be read inside of another one`() throws {
        func document(levels: Int) -> Document {
            let inner = (2..<levels).reduce(Value.document(["a": 1])) { inner, level in
                level % 2 == 0 ? ["a": inner] : ["a": inner, "b": 1]
            }
            return ["_id": 1, "x": inner]
        }
        let deepest = document(levels: 100)
        #expect(ValueBounds(maximumDepth: 100).excess(of: deepest) == nil)
        #expect(ValueBounds(maximumDepth: 99).excess(of: deepest) == .depth)
        let around: Document = ["1": ["2": ["3": ["4": ["5": ["6": [.document(deepest)]]]]]]]
        _ = try deepest.storedBody()
        #expect(try ExtendedJSON.parseDocument(ExtendedJSON.print(around, mode: .exact)) == around)
        #expect(throws: StorageRefusal.self) { try document(levels: 101).storedBody() }
        let array = (0..<100).reduce(Value.int32(1)) { inner, _ in [inner] }
        #expect(throws: StorageRefusal.self) { try (["_id": 1, "x": array] as Document).storedBody() }
    }
}
