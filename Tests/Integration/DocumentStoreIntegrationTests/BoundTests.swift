import DocumentModel
import DocumentStore
import Foundation
import Postgres
import TestSupport
import Testing

/// Memory and time of reads are bounded.
@Suite(.serialized) struct BoundTests {
    private func filled(_ fixture: StoreFixture, count: Int) async throws -> DocumentCollection {
        try await fixture.client.withTransaction { transaction in
            try await transaction.runScript(
                """
                select set_config('partita.writer', 'library', true);
                insert into \(fixture.table) (_id, partition, epoch, revision, incarnation_epoch, incarnation, body, document)
                select 's:d' || i, 's:p', 1, i, 1, i, format('{"_id":"d%s","partition":"p","n":{"$numberInt":"%s"},"filler":"%s"}', i, i, f)::json,
                    jsonb_build_object('_id', 'd' || i, 'partition', 'p', 'n', i, 'filler', f)
                from generate_series(1, \(count)) i, lateral (select repeat(md5(i::text), 6) as f) x;
                """)
        }
        return fixture.store.collection("ChatMessage", database: "RChat", app: StoreFixture.app)
    }

    /// The process's resident memory in kilobytes.
    private func resident() throws -> Int {
        let status = try String(contentsOfFile: "/proc/self/status", encoding: .utf8)
        let line = status.split(separator: "\n").first { $0.hasPrefix("VmRSS") } ?? ""
        return Int(line.filter(\.isNumber)) ?? 0
    }

    @Test func `many documents stream through find and aggregate in little memory`() async throws {
        try await StoreFixture.with { fixture in
            let count = 60_000
            let messages = try await filled(fixture, count: count)
            try await messages.createIndex(IndexModel([.init("n", .descending)]))
            var seen = 0
            try await messages.forEach(options: FindOptions(limit: 1000)) { _ in true }
            let before = try resident()
            try await messages.forEach(options: FindOptions()) { _ in
                seen += 1
                return true
            }
            #expect(seen == count)
            let groups = try await messages.aggregate([
                ["$match": ["n": ["$gt": 10]]], ["$group": ["_id": ["$mod": ["$n", 7]], "count": ["$sum": 1]]],
            ])
            #expect(groups.compactMap { $0["count"]?.intValue }.reduce(0, +) == count - 10)
            // Stages that multiply documents stream as well, and a sort keeps only as many documents as its limit.
            seen = 0
            try await messages.forEachResult(of: [
                ["$match": ["n": ["$gt": 10]]], ["$project": ["n": 1, "parts": ["$split": ["$filler", "a"]]]],
                ["$unwind": "$parts"],
            ]) { _ in
                seen += 1
                return true
            }
            #expect(seen > 10 * count)
            let first = try await messages.aggregate([
                ["$sort": ["filler": 1, "n": 1]], ["$limit": 3], ["$project": ["n": 1]],
            ])
            #expect(first.count == 3)
            // Sorted by an index, it streams and isn't sorted in memory.
            seen = 0
            try await messages.forEach(options: FindOptions(sort: ["n": -1])) { document in
                if document["n"]?.intValue != count - seen { return false }
                seen += 1
                return seen < 30_000
            }
            #expect(seen == 30_000)
            let grown = try resident() - before
            #expect(grown < 60_000, "grew by \(grown) kB")
        }
    }

    @Test func `an operation that would need too much memory ends with MongoDB's error 292`() async throws {
        try await StoreFixture.with { fixture in
            let messages = try await filled(fixture, count: 1)
            try await fixture.client.withTransaction { transaction in
                try await transaction.runScript(
                    """
                    select set_config('partita.writer', 'library', true);
                    insert into \(fixture.table) (_id, partition, epoch, revision, incarnation_epoch, incarnation, body, document)
                    select 's:x' || i, 's:p', 1, i, 1, i, format('{"_id":"x%s","partition":"p","filler":"%s"}', i, repeat('x', 4000000))::json,
                        '{}' from generate_series(1, 30) i;
                    """)
            }
            // One after the other they stream as well.
            let before = try resident()
            var seen = 0
            try await messages.forEach(options: FindOptions()) { _ in
                seen += 1
                return true
            }
            #expect(seen == 31)
            let grown = try resident() - before
            #expect(grown < 100_000, "grew by \(grown) kB")
            for operation in [
                { try await messages.find(options: FindOptions(sort: ["filler": 1])) }, { try await messages.find() },
                { try await messages.aggregate([["$sort": ["filler": 1]]]) },
                { try await messages.aggregate([["$group": ["_id": .null, "all": ["$push": "$filler"]]]]) },
                { try await messages.aggregate([["$addFields": ["a": 1]]]) },
            ] as [@Sendable () async throws -> [Document]] {
                let error = await #expect(throws: DocumentStoreError.self) { try await operation() }
                #expect(error?.mongoCode == 292)
            }
        }
    }

    @Test func `a time limit ends an operation with MongoDB's error 50, also in Postgres`() async throws {
        try await StoreFixture.with { fixture in
            let messages = try await filled(fixture, count: 40_000)
            for operation in [
                { try await messages.find(["filler": ["$regex": "zzz"]], options: FindOptions(maxTimeMS: 20)) },
                {
                    try await messages.aggregate(
                        [["$group": ["_id": "$filler"]]], options: AggregateOptions(maxTimeMS: 20))
                },
                {
                    try await messages.find(
                        ["$or": [["n": -1], ["filler": ["$regex": "zzz"]]]],
                        options: FindOptions(limit: 1, maxTimeMS: 20))
                },
            ] as [@Sendable () async throws -> [Document]] {
                let start = ContinuousClock.now
                let error = await #expect(throws: DocumentStoreError.self) { try await operation() }
                #expect(error?.mongoCode == 50)
                #expect(ContinuousClock.now - start < patience)
            }
            // Work that takes long within one document or one batch ends, too.
            let numbers = Value.array((0..<200_000).map { .integer($0) })
            try await messages.insertOne(["_id": "long", "partition": "p", "a": numbers])
            let conditions = Value.array((0..<9_000).map { ["a": ["$gt": .integer(1_000_000 + $0)]] })
            for operation in [
                {
                    try await messages.aggregate(
                        [["$match": ["_id": "long"]], ["$set": ["b": 1]], ["$match": ["$or": conditions]]],
                        options: AggregateOptions(maxTimeMS: 100))
                },
                {
                    try await messages.aggregate(
                        [
                            ["$limit": 20_000],
                            [
                                "$setWindowFields": [
                                    "sortBy": ["n": 1],
                                    "output": ["s": ["$sum": "$n", "window": ["documents": [-20_000, 20_000]]]],
                                ]
                            ],
                        ], options: AggregateOptions(maxTimeMS: 500))
                },
                {
                    try await messages.find(
                        ["_id": "long"],
                        options: FindOptions(
                            projection: ["s": ["$map": ["input": "$a", "in": ["$eq": [["$$ROOT"], ["$$ROOT"]]]]]],
                            maxTimeMS: 100))
                },
            ] as [@Sendable () async throws -> [Document]] {
                let start = ContinuousClock.now
                let error = await #expect(throws: DocumentStoreError.self) { try await operation() }
                #expect(error?.mongoCode == 50 && error?.code == .timeLimit)
                #expect(ContinuousClock.now - start < patience)
            }
            try await checkWritesEnd(messages, fixture.store)
            // The operations begun above would take minutes.
            try await eventually("nothing goes on in the server") {
                try await fixture.client.query(
                    "select 1 from pg_stat_activity where datname = current_database() and state <> 'idle' and pid <> pg_backend_pid()"
                ).isEmpty
            }
        }
    }

    private func checkWritesEnd(_ messages: DocumentCollection, _ store: DocumentStore) async throws {
        let slow: Document = ["filler": ["$regex": "zzz"]]
        let same: Value = ["$eq": [["$$ROOT"], ["$$ROOT"]]]
        let costly: Document = ["_id": "long", "$expr": ["$allElementsTrue": ["$map": ["input": "$a", "in": same]]]]
        let set: Value = ["$set": ["b": 1]]
        let (update, delete) = (UpdateOptions(maxTimeMS: 20), DeleteOptions(maxTimeMS: 20))
        let modify = FindAndModifyOptions(maxTimeMS: 20)
        for operation in [
            { _ = try await messages.updateOne(slow, set, options: update) },
            { _ = try await messages.updateOne(costly, set, options: update) },
            { _ = try await messages.updateMany(["n": ["$gte": 0]], set, options: update) },
            { _ = try await messages.replaceOne(slow, ["b": 1], options: update) },
            { _ = try await messages.deleteOne(slow, options: delete) },
            { _ = try await messages.deleteMany(slow, options: delete) },
            { _ = try await messages.findOneAndUpdate(slow, set, options: modify) },
            { _ = try await messages.findOneAndReplace(costly, ["b": 1], options: modify) },
            { _ = try await messages.findOneAndDelete(slow, options: modify) },
            {
                _ = try await messages.bulkWrite(
                    [.insertOne(["_id": "new", "partition": "p"]), .updateMany(filter: slow, update: set)],
                    maxTimeMS: 20)
            },
        ] as [@Sendable () async throws -> Void] {
            let start = ContinuousClock.now
            let error = await #expect(throws: DocumentStoreError.self) { try await operation() }
            #expect(error?.mongoCode == 50 && error?.code == .timeLimit)
            #expect(ContinuousClock.now - start < patience)
        }
        #expect(try await messages.findOne(["_id": "new"]) == nil)
        // The session's own limit applies again afterwards.
        try await store.withTransaction(app: StoreFixture.app) { session in
            let inside = session.collection(messages.namespace.collection, database: messages.namespace.database)
            let updated = try await inside.updateOne(["_id": "long"], set, options: UpdateOptions(maxTimeMS: 60_000))
            #expect(updated.modifiedCount == 1)
            let count = try await inside.countDocuments(slow)
            #expect(count == 0)
        }
    }
}
