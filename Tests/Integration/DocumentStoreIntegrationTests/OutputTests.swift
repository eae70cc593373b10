import DocumentModel
import DocumentStore
import Testing

/// `$out` and `$merge`.
struct OutputTests {
    private func with(
        _ target: [Document], _ stage: Document,
        _ body: @Sendable ([Document]?, DocumentStoreError?, DocumentCollection) async throws -> Void
    ) async throws {
        try await StoreFixture.with { fixture in
            let source = fixture.store.collection("source", database: "Reports", app: StoreFixture.app)
            try await source.insertMany([["_id": 1, "k": "a", "n": 10], ["_id": 2, "k": "b", "n": 20]])
            let other = fixture.store.collection("target", database: "Reports", app: StoreFixture.app)
            try await other.insertMany(target)
            do {
                let results = try await source.aggregate([["$sort": ["_id": 1]], stage])
                try await body(results, nil, other)
            } catch let error as DocumentStoreError {
                try await body(nil, error, other)
            }
        }
    }

    private func contents(_ collection: DocumentCollection) async throws -> [Document] {
        var options = FindOptions()
        options.sort = ["_id": 1]
        return try await collection.find(options: options)
    }

    @Test func `out replaces what was there and returns nothing`() async throws {
        try await with([["_id": 9, "old": true]], ["$out": "target"]) { results, _, target in
            #expect(results == [])
            let written = try await contents(target)
            #expect(written == [["_id": 1, "k": "a", "n": 10], ["_id": 2, "k": "b", "n": 20]])
        }
    }

    @Test(
        arguments: [
            (["into": "target"], [["_id": 1, "x": 5, "k": "a", "n": 10], ["_id": 2, "k": "b", "n": 20]]),
            (
                ["into": "target", "whenMatched": "replace"],
                [["_id": 1, "k": "a", "n": 10], ["_id": 2, "k": "b", "n": 20]]
            ),
            (
                ["into": "target", "whenMatched": "keepExisting"],
                [["_id": 1, "x": 5], ["_id": 2, "k": "b", "n": 20]]
            ),
            (["into": "target", "whenNotMatched": "discard"], [["_id": 1, "x": 5, "k": "a", "n": 10]]),
            (
                [
                    "into": "target", "whenMatched": [["$set": ["x": ["$add": ["$x", "$$new.n", "$$more"]]]]],
                    "let": ["more": 1],
                ],
                [["_id": 1, "x": 16], ["_id": 2, "k": "b", "n": 20]]
            ),
            (
                ["into": ["db": "Reports", "coll": "target"], "on": "_id"],
                [["_id": 1, "x": 5, "k": "a", "n": 10], ["_id": 2, "k": "b", "n": 20]]
            ),
        ] as [(Document, [Document])])
    func `merge applies the given actions`(merge: Document, expected: [Document]) async throws {
        try await with([["_id": 1, "x": 5]], ["$merge": .document(merge)]) { results, _, target in
            #expect(results == [])
            let written = try await contents(target)
            #expect(written == expected)
        }
    }

    @Test func `merge by another field keeps the id`() async throws {
        try await with([["_id": 7, "k": "b", "x": 5]], ["$merge": ["into": "target", "on": "k"]]) {
            results, _, target in
            #expect(results == [])
            let written = try await contents(target)
            #expect(written == [["_id": 1, "k": "a", "n": 10], ["_id": 7, "k": "b", "x": 5, "n": 20]])
        }
    }

    @Test func `pipelines that merge the same keys at once merge into one document for each`() async throws {
        try await StoreFixture.with { fixture in
            let source = fixture.store.collection("source", database: "Reports", app: StoreFixture.app)
            try await source.insertMany((0..<40).map { ["_id": .int32($0), "k": .int32($0)] })
            let target = fixture.store.collection("target", database: "Reports", app: StoreFixture.app)
            try await target.createIndex(IndexModel([.init("k")], unique: true))
            try await withThrowingTaskGroup(of: Void.self) { group in
                for number in 0..<6 {
                    let merge: Document = [
                        "into": "target", "on": "k",
                        "whenMatched": [["$set": ["by": ["$concatArrays": ["$by", "$$new.by"]]]]],
                    ]
                    group.addTask {
                        _ = try await source.aggregate([
                            ["$sort": ["k": 1]], ["$project": ["_id": 0, "k": 1, "by": [.int32(Int32(number))]]],
                            ["$merge": .document(merge)],
                        ])
                    }
                }
                try await group.waitForAll()
            }
            let written = try await target.find()
            #expect(written.count == 40)
            #expect(written.allSatisfy { $0["by"]?.arrayValue?.count == 6 }, "\(written)")
        }
    }

    @Test(
        arguments: [
            (["into": "target", "whenMatched": "fail"], 11000), (["into": "target", "whenNotMatched": "fail"], 13113),
            (["into": "target", "on": "missing"], 51132),
        ] as [(Document, Int)])
    func `merge refuses with MongoDB's codes`(merge: Document, code: Int) async throws {
        try await with([["_id": 1, "x": 5]], ["$merge": .document(merge)]) { _, error, _ in
            #expect(error?.mongoCode == code)
        }
    }
}
