import DocumentModel
import DocumentStore
import Dumps
import Foundation
import Postgres
import Testing

@Suite struct ImportTests {
    @Test func `an export of what was imported has the same bytes, of every type`() async throws {
        try await DumpFixture.with { fixture in
            let dump = try DumpFixture.path("dump")
            for collection in try DumpFolder.collections(in: dump) {
                let report = try await fixture.importer().run(collection)
                #expect(report.isComplete, "\(report.problems)")
                #expect(report.inserted == 7)
            }
            #expect(try await fixture.collection("types").indexes().map(\.name) == ["_id_", "int32_1_string_-1"])

            let out = "\(fixture.folder)/out"
            let counts = try await DumpExport(store: fixture.store, app: DumpFixture.app).run(to: out)
            #expect(counts.values.sorted() == [7, 7])
            let expected = try DumpFixture.bytes("\(dump)/Shop/types.bson")
            for name in ["types", "packed"] {
                #expect(try DumpFixture.bytes("\(out)/Shop/\(name).bson") == expected)
            }
            let metadata = try DumpFolder.collections(in: out, collection: "types")[0].metadata
            #expect(metadata?.indexes.compactMap { $0["name"]?.stringValue } == ["_id_", "int32_1_string_-1"])
        }
    }

    @Test func `imported documents have revisions and change rows that triggers skip`() async throws {
        try await DumpFixture.with { fixture in
            let documents = try fixture.dump(try DumpFixture.documents(50), as: "items")
            _ = try await fixture.importer().run(documents)
            var changes = try await fixture.changes()
            #expect(changes == (50, 50, 50))

            let others = try fixture.dump(try DumpFixture.documents(20), as: "others")
            _ = try await fixture.importer { $0.firesTriggers = true }.run(others)
            changes = try await fixture.changes()
            #expect(changes == (70, 50, 70))
        }
    }

    @Test func `documents that can't be imported are listed with place and reason, and stop nothing`() async throws {
        try await DumpFixture.with { fixture in
            let bad = try DumpFolder.collections(in: try DumpFixture.path("bad"))[0]
            let report = try await fixture.importer().run(bad)
            #expect(report.inserted == 2)
            #expect(report.rejected == 9)
            #expect(!report.isComplete)
            #expect(report.problems.count == 1 && report.problems[0].contains("hashed"))
            // What couldn't be done is tried, and said, each time.
            let repeated = try await fixture.importer().run(bad)
            #expect(repeated.problems == report.problems && repeated.rejected == 9)
            #expect(try await fixture.collection("bad").find().compactMap { $0["n"]?.intValue }.sorted() == [1, 2])

            let path = try #require(report.rejections)
            let lines = try String(contentsOfFile: path, encoding: .utf8).split(separator: "\n")
            let rejections = try lines.map { try ExtendedJSON.parseDocument(String($0)) }
            #expect(
                rejections.compactMap { $0["code"]?.stringValue }.sorted() == [
                    "ambiguous", "badEncoding", "badId", "badId", "badType", "badValue", "duplicateKey",
                    "schemaViolation", "tooDeep",
                ])
            // The place is the position of the byte that can't be read.
            let bytes = try DumpFixture.bytes(bad.path)
            let offset = try #require(
                rejections.first { $0["code"] == "badValue" }?["offset"]?.intValue)
            #expect(bytes[offset - 1] == 7)
        }
    }

    @Test func `an index of places is recorded, and what it doesn't do is said`() async throws {
        try await DumpFixture.with { fixture in
            var bytes: [UInt8] = []
            for (id, longitude) in [(1, 10.0), (2, 20.0)] as [(Int32, Double)] {
                bytes += try BSON.encode([
                    "_id": .int32(id), "place": ["type": "Point", "coordinates": [.double(longitude), 50.0]],
                ])
            }
            _ = try fixture.dump(bytes, as: "places")
            let folder = "\(fixture.folder)/in"
            let metadata = """
                {"indexes": [{"v": 2, "key": {"_id": 1}, "name": "_id_"}, {"v": 2, "key": {"place": "2dsphere", "kind": 1},
                "name": "place_2dsphere", "2dsphereIndexVersion": 3}], "collectionName": "places"}
                """
            try Data(metadata.utf8).write(to: URL(fileURLWithPath: "\(folder)/Shop/places.metadata.json"))
            let dump = try DumpFolder.collections(in: folder, collection: "places")[0]
            for again in [false, true] {
                let report = try await fixture.importer {
                    $0.again = again
                    $0.drops = again
                }.run(dump)
                #expect(report.isComplete && report.inserted == 2 && report.indexes == ["place_2dsphere"])
                #expect(report.warnings.count == 1 && report.warnings[0].contains("place_2dsphere"), "\(report)")
            }
            let places = fixture.collection("places")
            let near = try await places.aggregate([
                ["$geoNear": ["near": ["type": "Point", "coordinates": [19, 50]], "distanceField": "d"]],
                ["$project": ["_id": 1]],
            ])
            #expect(near == [["_id": 2], ["_id": 1]])
            let out = "\(fixture.folder)/out"
            _ = try await DumpExport(store: fixture.store, app: DumpFixture.app).run(to: out)
            let exported = try DumpFolder.collections(in: out, collection: "places")[0].metadata
            #expect(exported?.indexes.last?["key"] == ["place": "2dsphere", "kind": 1])
        }
    }

    @Test func `other collections aren't read`() async throws {
        try await DumpFixture.with { fixture in
            _ = try fixture.dump(try DumpFixture.documents(1), as: "wanted")
            _ = try fixture.dump(try DumpFixture.documents(1), as: "other")
            try Data("{".utf8).write(to: URL(fileURLWithPath: "\(fixture.folder)/in/Shop/other.metadata.json"))
            let chosen = try DumpFolder.collections(in: "\(fixture.folder)/in", collection: "wanted")
            #expect(chosen.map(\.namespace.collection) == ["wanted"])
            #expect(try await fixture.importer().run(chosen[0]).isComplete)
            #expect(throws: DumpError.self) { try DumpFolder.collections(in: "\(fixture.folder)/in") }
        }
    }

    @Test func `what of a dump isn't imported is said, and a pipe is refused`() async throws {
        try await DumpFixture.with { fixture in
            _ = try fixture.dump(try DumpFixture.documents(1), as: "kept")
            let folder = "\(fixture.folder)/in/Shop"
            for name in [
                "system.buckets.weather.bson", "weather.bson.zst", "UPPER.BSON", "bare.metadata.json", "notes.txt",
                "system.views.bson", "system.js.bson", "../oplog.bson", "../oplog.bson.gz",
                "../admin/system.users.bson",
                "../admin/jobs.bson", "../local/startup_log.bson", "../config/settings.bson",
            ] {
                let place = URL(fileURLWithPath: "\(folder)/\(name)").deletingLastPathComponent()
                try FileManager.default.createDirectory(at: place, withIntermediateDirectories: true)
                let text = name.hasSuffix(".json") ? #"{"indexes": [], "collectionName": "bare"}"# : ""
                try Data(text.utf8).write(to: URL(fileURLWithPath: "\(folder)/\(name)"))
            }
            // Older dumps have an empty file of documents for a view.
            for name in ["view.bson", "view.metadata.json"] {
                let text = name.hasSuffix(".json") ? #"{"collectionName": "view", "type": "view", "indexes": []}"# : ""
                try Data(text.utf8).write(to: URL(fileURLWithPath: "\(folder)/\(name)"))
            }
            let options = #"{"capped": true, "size": 4096, "validator": {"n": 1}, "collation": null, "flags": 1}"#
            try Data(#"{"indexes": [], "options": \#(options)}"#.utf8).write(
                to: URL(fileURLWithPath: "\(folder)/kept.metadata.json"))
            try FileManager.default.createDirectory(atPath: "\(folder)/inner", withIntermediateDirectories: true)
            let contents = try DumpFolder.contents(of: "\(fixture.folder)/in")
            #expect(contents.collections.map(\.namespace.collection) == ["kept"])
            let said = contents.overlooked.compactMap { $0.split(separator: " ").first?.split(separator: "/").last }
            #expect(
                said.sorted() == [
                    "UPPER.BSON", "bare.metadata.json", "inner", "jobs.bson", "kept.metadata.json", "oplog.bson",
                    "oplog.bson.gz",
                    "system.buckets.weather.bson", "system.js.bson", "view.metadata.json", "weather.bson.zst",
                ])
            #expect(
                contents.overlooked.contains(
                    "\(folder)/kept.metadata.json has options that aren't kept: capped, validator"))
            try #require(mkfifo("\(folder)/pipe.bson", 0o644) == 0)
            let pipe = try DumpFolder.collections(in: "\(fixture.folder)/in", collection: "pipe")[0]
            await #expect(throws: DumpError.self) { try await fixture.importer().run(pipe) }
        }
    }

    @Test func `a schema can be ignored`() async throws {
        try await DumpFixture.with { fixture in
            let dump = try fixture.dump(try BSON.encode(["_id": 1, "forbidden": true]), as: "free")
            let report = try await fixture.importer { $0.bypassesSchema = true }.run(dump)
            #expect(report.inserted == 1 && report.isComplete)
        }
    }

    @Test(arguments: [3, 20, 40, -1])
    func `a truncated file is imported up to its end, and reported`(cut: Int) async throws {
        try await DumpFixture.with { fixture in
            let whole = try DumpFixture.documents(3)
            let size = whole.count / 3
            let bytes = Array(whole.prefix(cut < 0 ? whole.count + cut : cut))
            let report = try await fixture.importer().run(try fixture.dump(bytes, as: "cut"))
            #expect(report.inserted == Int64(bytes.count / size))
            #expect(report.problems.count == 1)
            // The complete file counts as another one, whose first documents already exist.
            let again = try await fixture.importer().run(try fixture.dump(whole, as: "cut"))
            #expect(again.inserted + report.inserted == 3)
            #expect(again.rejected == report.inserted)
        }
    }

    @Test func `a damaged gzip file and a wrong length are reported, not followed`() async throws {
        try await DumpFixture.with { fixture in
            var bytes = try DumpFixture.documents(3)
            bytes[bytes.count / 3] = 0xFF
            bytes[bytes.count / 3 + 3] = 0x7F
            let report = try await fixture.importer().run(try fixture.dump(bytes, as: "length"))
            #expect(report.inserted == 1)
            #expect(report.problems.first?.contains("byte \(bytes.count / 3)") == true)

            let packed = try DumpFixture.path("dump/Shop/packed.bson.gz")
            var damaged = try DumpFixture.bytes(packed)
            damaged[damaged.count / 2] ^= 0x55
            let path = "\(fixture.folder)/damaged.bson.gz"
            try Data(damaged).write(to: URL(fileURLWithPath: path))
            let namespace = ChangeEvent.Namespace(database: "Shop", collection: "damaged")
            let broken = DumpedCollection(namespace: namespace, path: path, metadata: nil, size: Int64(damaged.count))
            #expect(try await !fixture.importer().run(broken).problems.isEmpty)
        }
    }

    @Test func `a unique index refuses only the documents that violate it`() async throws {
        try await DumpFixture.with { fixture in
            let collection = fixture.collection("unique")
            try await collection.createIndex(IndexModel([.init("key")], unique: true))
            var bytes: [UInt8] = []
            for number in 0..<64 {
                let key = number == 17 || number == 40 ? 3 : number
                bytes += try BSON.encode(["_id": .int32(Int32(number)), "key": .int32(Int32(key))])
            }
            let report = try await fixture.importer().run(try fixture.dump(bytes, as: "unique"))
            #expect(report.inserted == 62)
            #expect(report.rejected == 2)
            let changes = try await fixture.changes()
            #expect(changes == (62, 62, 62))
        }
    }

    @Test func `a collection is emptied first on request, and a finished file isn't imported twice`() async throws {
        try await DumpFixture.with { fixture in
            let dump = try fixture.dump(try DumpFixture.documents(10), as: "items")
            try await fixture.collection("items").insertOne(["_id": "old"])
            _ = try await fixture.importer { $0.drops = true }.run(dump)
            #expect(try await fixture.collection("items").countDocuments() == 10)
            // Triggers skip what comes with an import, also the deletion; the insert before it was somebody's.
            let changes = try await fixture.changes()
            #expect(changes.all == 12 && changes.imported == 11)
            await #expect { _ = try await fixture.importer().run(dump) } throws: {
                ($0 as? DumpError)?.code == .alreadyImported
            }
            let again = try await fixture.importer {
                $0.again = true
                $0.drops = true
            }.run(dump)
            #expect(again.inserted == 10 && again.rejected == 0)
        }
    }

    @Test func `an interrupted import begins anew on request, and continues without it`() async throws {
        try await DumpFixture.with { fixture in
            let dump = try fixture.dump(try DumpFixture.documents(10), as: "items")
            _ = try await fixture.importer().run(dump)
            func interrupt() async throws {
                try await fixture.client.execute("update partita.imports set phase = 'documents'")
            }
            try await interrupt()
            let continued = try await fixture.importer().run(dump)
            #expect(continued.resumedAfter == 10 && continued.inserted == 10 && continued.rejected == 0)

            try await interrupt()
            try await fixture.collection("items").insertOne(["_id": "since"])
            let anew = try await fixture.importer { $0.drops = true }.run(dump)
            #expect(anew.resumedAfter == 0 && anew.inserted == 10 && anew.rejected == 0)
            #expect(try await fixture.collection("items").countDocuments() == 10)

            try await interrupt()
            let again = try await fixture.importer { $0.again = true }.run(dump)
            #expect(again.resumedAfter == 0 && again.inserted == 0 && again.rejected == 10)
        }
    }

    @Test func `imports of two files, and of long names, list what they reject in files of their own`() async throws {
        try await DumpFixture.with { fixture in
            let long = String(repeating: "l", count: 120)
            var paths: Set<String> = []
            for (number, name) in [(1, "items"), (2, "items"), (3, long), (3, "a/b")] {
                let bytes = try BSON.encode(["_id": .int32(Int32(number)), "forbidden": true])
                let path = "\(fixture.folder)/\(paths.count).bson"
                try Data(bytes).write(to: URL(fileURLWithPath: path))
                let report = try await fixture.importer().run(
                    DumpedCollection(
                        namespace: .init(database: "Shop", collection: name), path: path, metadata: nil,
                        size: Int64(bytes.count)))
                let log = try #require(report.rejections)
                #expect(paths.insert(log).inserted, "\(log)")
                #expect(log.contains(DumpFixture.app))
                let lines = try String(contentsOfFile: log, encoding: .utf8).split(separator: "\n")
                #expect(lines.count == 1, "\(lines)")
            }
        }
    }

    @Test func `names of a dump are compared by bytes`() async throws {
        try await DumpFixture.with { fixture in
            let (composed, decomposed) = ("caf\u{E9}", "cafe\u{301}")
            for name in ["caf%C3%A9", "cafe%CC%81"] { _ = try? fixture.dump(try DumpFixture.documents(1), as: name) }
            let all = try DumpFolder.collections(in: "\(fixture.folder)/in")
            #expect(all.count == 2)
            for name in [composed, decomposed] {
                let chosen = try DumpFolder.collections(in: "\(fixture.folder)/in", collection: name)
                #expect(chosen.map { Array($0.namespace.collection.utf8) } == [Array(name.utf8)])
                _ = try await fixture.importer().run(try #require(chosen.first))
            }
            let counts = try await DumpExport(store: fixture.store, app: DumpFixture.app)
                .run(to: "\(fixture.folder)/out", collection: composed)
            #expect(counts.keys.map { Array($0.collection.utf8) } == [Array(composed.utf8)])
        }
    }

    @Test func `a later dump of the same size is another one`() async throws {
        try await DumpFixture.with { fixture in
            // More than two megabytes that differ in the middle only.
            func dump(_ number: Int32) throws -> DumpedCollection {
                let text = Value.string(String(repeating: "x", count: 1 << 20))
                let documents: [Document] = [
                    ["_id": 1, "text": text], ["_id": 2, "n": .int32(number)], ["_id": 3, "text": text],
                ]
                return try fixture.dump(try documents.flatMap { try BSON.encode($0) }, as: "items")
            }
            for number in 1...2 as ClosedRange<Int32> {
                let report = try await fixture.importer { $0.drops = true }.run(try dump(number))
                #expect(report.inserted == 3 && report.isComplete)
                #expect(try await fixture.collection("items").findOne(["_id": 2])?["n"] == .int32(number))
            }
            let archive = "\(fixture.folder)/archive"
            try Data().write(to: URL(fileURLWithPath: archive))
            #expect { try DumpFolder.collections(in: archive) } throws: {
                "\($0)".contains("only folders of `mongodump`")
            }
        }
    }
}
