import DocumentModel
import Functions
import Postgres
import QueryLanguage
import TestSupport
import Testing

@testable import Permissions

/// How the decisions that a change concerns are found.
@Suite struct DependencyTests {
    private func anchor(_ filter: Document) throws -> DependencyAnchor? { DependencyAnchor(try Filter(filter)) }

    @Test func `a dependency is found by an equality of its filter, wherever the document has the value`() throws {
        let documents: [(Document, Document)] = [
            (["member": "ann"], ["member": "ann", "other": 1]),
            (["member": "ann"], ["member": ["bob", "ann"]]),
            (["members.name": "ann"], ["members": [["name": "bob"], ["name": "ann"]]]),
            (["members.name": "ann"], ["members": ["name": "ann"]]),
            (["member": ["$in": ["ann"]], "age": ["$gt": 3]], ["member": "ann", "age": 4]),
            (["$and": [["member": ["$eq": "ann"]], ["open": true]]], ["member": "ann", "open": true]),
        ]
        for (filter, document) in documents {
            let anchor = try #require(try anchor(filter))
            #expect(try Filter(filter).matches(document, now: 0))
            #expect(DependencyAnchor.all(in: document, fields: [anchor.field]).contains(anchor))
        }
        let ann = try #require(try anchor(["member": "ann"]))
        #expect(!DependencyAnchor.all(in: ["member": "bob"], fields: ["member"]).contains(ann))
    }

    @Test func `conditions that match several forms, or a missing value, aren't indexed`() throws {
        for filter: Document in [
            ["n": 1], ["n": .null], ["_id": "a"], ["list.0": "a"], ["$or": [["a": "x"], ["b": "y"]]], [:],
            ["a": ["$gt": "x"]],
        ] {
            #expect(try anchor(filter) == nil, "\(filter)")
        }
    }

    @Test func `of ten thousand dependencies of a collection a change is matched with those that have its value`()
        async throws
    {
        let fixture = try await PermissionsFixture.shared()
        let table = DependencyTable(client: fixture.postgres)
        let app = "dependencies"
        try await fixture.postgres.execute(
            """
            insert into partita.grant_dependencies (app, partition, user_id, database, collection, filter, field, value)
            select $1, 's:room-' || n, 'user', 'Test', 'Room', '{"members":"user-' || n || '"}', 'members', n
            from generate_series(1, 10000) n
            """, [.text(app)])
        func subject(_ room: String) -> Subject {
            Subject(app: app, user: "ann", partition: Partition(text: "s:" + room))
        }
        func dependency(_ filter: Document) throws -> Dependency {
            Dependency(database: "Test", collection: "Room", filter: try Filter(filter))
        }
        try await fixture.postgres.execute(
            """
            insert into partita.grant_subjects (app, partition, user_id, claims)
            select $1, 's:' || room, 'ann', '{}' from unnest(array['one', 'two', 'three', 'four', 'five', 'six']) room
            """, [.text(app)])
        try await table.add([try dependency(["members": "ann"])], of: subject("one"))
        try await table.add([try dependency(["members": "ann", "open": true])], of: subject("two"))
        try await table.add([try dependency(["size": ["$gt": 3]])], of: subject("three"))
        try await table.add([try dependency(["_id": "kitchen"])], of: subject("four"))
        try await table.add(
            [try dependency(["_id": "hall", "$expr": ["$lt": ["$until", "$$NOW"]]])], of: subject("five"))

        try await table.add(
            [Dependency(database: "Test", collection: "User", filter: try Filter(["_id": "ann"]))], of: subject("six"))
        let collections = try await table.collections(of: [ExactText(app), "nobody's"])
        #expect(
            Set(collections.map { "\($0.app) \($0.namespace.database).\($0.namespace.collection)" })
                == ["\(app) Test.Room", "\(app) Test.User"])
        #expect(collections.count == 2)

        func change(_ id: String, before: Document? = nil, after: Document?) -> ChangeEvent {
            ChangeEvent(
                app: app, namespace: .init(database: "Test", collection: "Room"),
                operationType: after == nil ? .delete : before == nil ? .insert : .update, documentKey: .string(id),
                partition: Partition(text: "s:x"), revision: Revision(epoch: 1, number: 1),
                incarnation: Revision(epoch: 1, number: 1), fullDocument: after, fullDocumentBeforeChange: before,
                clusterTime: Timestamp(seconds: 1, increment: 1), wallTime: 0)
        }
        let left = change("cellar", before: ["members": ["ann", "bob"]], after: ["members": ["bob"]])
        #expect(try await table.candidates(for: [left], app: app).count == 3)
        #expect(try await table.subjects(concernedBy: [left], app: app) == [subject("one")])
        let other = change("cellar", after: ["members": ["zoe"], "size": 7])
        #expect(try await table.candidates(for: [other], app: app).count == 1)
        #expect(try await table.subjects(concernedBy: [other], app: app) == [subject("three")])
        let gone = change("kitchen", before: ["_id": "kitchen", "members": ["ann"], "open": true], after: nil)
        #expect(
            try await table.subjects(concernedBy: [gone, other], app: app)
                == [subject("one"), subject("two"), subject("three"), subject("four")])
        // It didn't match in 1970.
        let hall = change("hall", after: ["_id": "hall", "until": .date(1_000)])
        #expect(try await table.subjects(concernedBy: [hall], app: app) == [subject("five")])
    }

    @Test func `a grant ends with a document that its rule has joined, or found by a collation`() async throws {
        let fixture = try await PermissionsFixture.shared()
        _ = try await fixture.members.insertOne(["_id": "xaver", "nick": "XAVER", "rooms": []])
        _ = try await fixture.cards.insertOne(["_id": "card", "member": "xaver"])
        for partition in ["club", "lodge"] {
            try await fixture.ask("xaver", partition)
            _ = try await fixture.grant(.write, of: "xaver", partition)
        }
        _ = try await fixture.cards.deleteOne(["_id": "card"])
        _ = try await fixture.grant(.none, of: "xaver", "club")
        _ = try await fixture.members.updateOne(["_id": "xaver"], .document(["$set": ["nick": "ander"]]))
        _ = try await fixture.grant(.none, of: "xaver", "lodge")
    }

    @Test func `a call depends on every collection that its pipeline names`() throws {
        func dependencies(_ action: String, _ arguments: Document) throws -> Set<Dependency> {
            var all: Document = ["database": "Test", "collection": "Room"]
            for field in arguments.fields { all[field.key] = field.value }
            return try Dependency.all(of: DocumentCall(action: action, arguments: all))
        }
        func whole(_ names: String...) -> Set<Dependency> {
            Set(names.map { Dependency(database: "Test", collection: $0, filter: .all) })
        }
        let pipeline: Value = [
            ["$lookup": ["from": "A", "as": "a", "pipeline": [["$unionWith": "B"]]]],
            ["$facet": ["f": [["$unionWith": ["coll": "C", "pipeline": [["$match": ["x": 1]]]]]]]],
            [
                "$graphLookup": [
                    "from": "D", "startWith": "$x", "connectFromField": "x", "connectToField": "y", "as": "d",
                ]
            ],
        ]
        #expect(try dependencies("aggregate", ["pipeline": pipeline]) == whole("Room", "A", "B", "C", "D"))
        let matched: Value = [["$match": ["$expr": ["$eq": ["$n", "$$wanted"]]]]]
        #expect(try dependencies("aggregate", ["pipeline": matched, "let": ["wanted": 1]]) == whole("Room"))
        let byVariable: Document = ["query": ["$expr": ["$eq": ["$n", "$$wanted"]]], "let": ["wanted": 1]]
        #expect(try dependencies("find", byVariable) == whole("Room"))
        let byCollation: Document = ["query": ["name": "ANN"], "collation": ["locale": "en", "strength": 2]]
        #expect(try dependencies("findOne", byCollation) == whole("Room"))
        let plain = Dependency(database: "Test", collection: "Room", filter: try Filter(["name": "ANN"]))
        #expect(try dependencies("findOne", ["query": ["name": "ANN"]]) == [plain])
    }
}
