import AWSSigning
import DocumentModel
import DocumentStore
import EventLoop
import EventStream
import EventTopics
import Foundation
import Lifecycle
import Logging
import Postgres
import TestSupport
import Testing

@testable import MediaOffload

extension MediaOffloadTests {
    @Suite struct OffloadTests {
        @Test func `a photo becomes a thumbnail and a link that opens the same bytes`() async throws {
            let fixture = try await MediaFixture.shared()
            let picture = try await TestPictures.png()
            #expect(picture.count > 2_000_000)
            let id = try await fixture.insert(picture, id: "a message/ö \(UUID().uuidString)")
            let image = try await fixture.movedImage(of: id)
            let thumbnail = try #require(image["thumbNail"]?.binaryValue?.bytes)
            #expect(ContentType.sniff(thumbnail) == "image/jpeg" && thumbnail.count < 30_000)
            #expect(image.keys == ["_id", "pictureURL", "thumbNail"])

            try await fixture.grant("read", to: "amy", on: id)
            let link = try #require(image["pictureURL"]?.stringValue)
            #expect(
                link.hasPrefix(
                    "http://127.0.0.1:8084/v1/apps/\(fixture.app)/media/RChat/ChatMessage/s%3Aa%20message%2F"))
            let answer = try await fixture.open(link, token: fixture.token("amy"))
            #expect(answer.status == 200 && answer.body == picture)
            #expect(answer[header: "content-type"] == "image/png")
            #expect(answer[header: "cache-control"] == "private")
            try await fixture.settled(id)
            let event = try await eventually("the event is sent") { fixture.events(of: id).first }
            #expect(event.kind == .offloaded && event.object == SHA256.hex(picture))
            #expect(event.size == Int64(picture.count) && event.contentType == "image/png")
        }

        @Test func `a thumbnail that was sent stays, and so does a small binary`() async throws {
            let fixture = try await MediaFixture.shared()
            let sent = try await fixture.insert(Array(repeating: 7, count: 5000), thumbnail: [1, 2, 3])
            let small = try await fixture.insert([1, 2, 3])
            let image = try await fixture.movedImage(of: sent)
            #expect(image["thumbNail"] == .binary(Binary([1, 2, 3])))
            try await fixture.settled(sent)
            #expect(try await fixture.image(of: small)?["picture"] == .binary(Binary([1, 2, 3])))
            #expect(try await fixture.rows("media_references", of: small) == 0)
        }

        @Test func `a thumbnail that was made goes with its picture, and one that was sent stays`() async throws {
            let fixture = try await MediaFixture.shared()
            func replace(_ id: String, by picture: [UInt8], more: Document = [:]) async throws -> Value? {
                let change = Document(
                    [("image.picture", .binary(Binary(picture)))] + more.fields.map { ($0.key, $0.value) })
                try await fixture.messages.updateOne(["_id": .string(id)], .document(["$set": .document(change)]))
                let thumbnail = try await fixture.movedImage(of: id, picture: picture)["thumbNail"]
                try await fixture.settled(id)
                return thumbnail
            }
            let (first, second) = (try await TestPictures.png(), try await TestPictures.png(width: 300, height: 200))
            let id = try await fixture.insert(first)
            let made = try await fixture.movedImage(of: id)["thumbNail"]
            let next = try await replace(id, by: second)
            #expect(made != nil && next != nil && next != made)
            // A picture of which none can be made has none, rather than that of another one.
            #expect(try await replace(id, by: Array(repeating: 7, count: 5000)) == nil)
            #expect(try await replace(id, by: first) == made)
            let own = Value.binary(Binary([1, 2, 3]))
            #expect(try await replace(id, by: second, more: ["image.thumbNail": own]) == own)
            #expect(try await replace(id, by: first) == own)
        }

        @Test func `the link of a photo that a trigger wrote belongs to the trigger's chain`() async throws {
            let fixture = try await MediaFixture.shared()
            let id = try await fixture.insert(Array(repeating: 7, count: 5000)) { transaction in
                try await transaction.execute(
                    "select \(DocumentStore.triggerChainSQL("$1"))", [.text(#"{"event": "e", "triggers": []}"#)])
            }
            _ = try await fixture.movedImage(of: id)
            let chains = try await fixture.engines.postgres.query(
                "select trigger_chain from partita.changes where app = $1 and _id = $2 order by epoch, revision",
                [.text(fixture.app), .text("s:\(id)")])
            #expect(try chains.decode(String?.self) == Array(repeating: #"{"event": "e", "triggers": []}"#, count: 2))
            // The next transaction on the same connections has none.
            let other = try await fixture.insert([1, 2, 3])
            let none = try await fixture.engines.postgres.query(
                "select trigger_chain from partita.changes where app = $1 and _id = $2",
                [.text(fixture.app), .text("s:\(other)")])
            #expect(try none.decode(String?.self) == [nil])
        }

        @Test func `a job of an app that isn't deployed is dropped at once`() async throws {
            let fixture = try await MediaFixture.shared()
            let place = ChangeEvent.Namespace(database: "RChat", collection: "ChatMessage")
            let job = MediaJob(
                app: "gone-\(UUID().uuidString)", kind: .offload, namespace: place, documentKey: "m",
                partition: Partition(text: "s:p"), revision: Revision(epoch: 1, number: 1), path: "image.picture",
                time: 0)
            try await JobTable(client: fixture.engines.postgres).add([job])
            try await fixture.engines.events.send(job)
            // Eight attempts with growing pauses, as for a failure, would take longer.
            try await eventually("the job is gone", within: .seconds(5)) {
                try await fixture.engines.postgres.query(
                    "select from partita.media_jobs where app = $1", [.text(job.app)]
                ).isEmpty
            }
        }

        @Test func `while the object store is unavailable no photo is lost, and all are stored later`() async throws {
            let fixture = try await MediaFixture.shared()
            fixture.storage.state.withLock { $0.isAway = true }
            let pictures = (0..<8).map { index in
                Array("photo \(UUID().uuidString) \(index)".utf8) + Array(repeating: 1, count: 5000)
            }
            var ids: [String] = []
            for picture in pictures { ids.append(try await fixture.insert(picture)) }
            let before = fixture.storage.state.withLock { $0.refusals }
            try await eventually("the object store was tried again and again") {
                fixture.storage.state.withLock { $0.refusals } >= before + 3
            }
            for (id, picture) in zip(ids, pictures) {
                #expect(try await fixture.image(of: id)?["picture"] == .binary(Binary(picture)))
            }
            fixture.storage.state.withLock { $0.isAway = false }
            for (id, picture) in zip(ids, pictures) {
                _ = try await fixture.movedImage(of: id, picture: picture)
                #expect(fixture.files(of: picture).count == 1)
            }
        }

        @Test func `a photo waits as long as this machine can't make its thumbnail, and is moved then`() async throws {
            let fixture = try await MediaFixture.shared()
            let (program, hidden) = (fixture.thumbnailProgram, fixture.thumbnailProgram + ".hidden")
            let picture = try await TestPictures.png(width: 300, height: 200)
            try FileManager.default.moveItem(atPath: program, toPath: hidden)
            let id: String
            do {
                defer {
                    #expect(throws: Never.self) { try FileManager.default.moveItem(atPath: hidden, toPath: program) }
                }
                id = try await fixture.insert(picture)
                // Each attempt but the first one finds the object in the store.
                try await eventually("it was tried more often than what an engine refuses", within: patience) {
                    fixture.storage.state.withLock { state in
                        state.looks.count { $0.contains(SHA256.hex(picture)) } >= 5
                    }
                }
                #expect(try await fixture.image(of: id)?["picture"] == .binary(Binary(picture)))
                #expect(try await fixture.rows("media_jobs", of: id) == 1)
            }
            #expect(try await fixture.movedImage(of: id, picture: picture)["thumbNail"] != nil)
        }

        @Test func `a repeated job changes nothing`() async throws {
            let fixture = try await MediaFixture.shared()
            let picture = Array("once \(UUID().uuidString)".utf8) + Array(repeating: 2, count: 5000)
            let id = try await fixture.insert(picture)
            _ = try await fixture.movedImage(of: id)
            try await fixture.settled(id)
            let changes = try await fixture.rows("changes", of: id)
            let puts = fixture.storage.state.withLock { $0.puts.count }
            for kind in [MediaJob.Kind.offload, .remove] {
                try await fixture.perform(try await fixture.job(kind, of: id))
            }
            #expect(try await fixture.rows("changes", of: id) == changes)
            #expect(fixture.storage.state.withLock { $0.puts.count } == puts)
            #expect(fixture.events(of: id).filter { $0.kind == .offloaded }.count == 1)
            #expect(fixture.files(of: picture).count == 1)
        }

        @Test func `a job that the broker lost is sent again`() async throws {
            let fixture = try await MediaFixture.shared()
            let id = try await fixture.insert([1, 2, 3])
            let job = try await fixture.job(.offload, of: id)
            try await JobTable(client: fixture.engines.postgres).add([job])
            try await fixture.engines.postgres.execute(
                "update partita.media_jobs set resend_at = now() where job_id = $1", [.text(job.eventID)])
            let outbox = Outbox(
                OverdueJobs(table: JobTable(client: fixture.engines.postgres)), producer: fixture.engines.events,
                sweepInterval: .seconds(60), logger: Logger(label: "test"))
            let run = Task { try await outbox.run() }
            try await fixture.settled(id)
            run.cancel()
            try await run.value
        }

        @Test func `a photo that is replaced while it is stored gives way to the newer one`() async throws {
            let fixture = try await MediaFixture.shared()
            let old = Array("old \(UUID().uuidString)".utf8) + Array(repeating: 3, count: 5000)
            let new = Array("new \(UUID().uuidString)".utf8) + Array(repeating: 4, count: 5000)
            let id = UUID().uuidString
            fixture.storage.state.withLock { $0.beforePut = { try await fixture.replacePicture(of: id, by: new) } }
            try await fixture.insert(old, id: id)
            _ = try await fixture.movedImage(of: id, picture: new)
            try await eventually("the older photo is removed") {
                try await fixture.objects(of: old) == 0 && fixture.files(of: old).isEmpty
            }
            #expect(fixture.files(of: new).count == 1)
        }

        @Test func `a photo stays as long as any field of its document has the link`() async throws {
            let fixture = try await MediaFixture.shared()
            let picture = Array("renamed \(UUID().uuidString)".utf8) + Array(repeating: 6, count: 5000)
            let id = try await fixture.insert(picture)
            let link = try #require(try await fixture.movedImage(of: id)["pictureURL"]?.stringValue)
            try await fixture.grant("read", to: "amy", on: id)
            try await fixture.settled(id)
            try await fixture.messages.updateOne(
                ["_id": .string(id)], ["$rename": ["image.pictureURL": "file.url"]])
            // The job of the change that took the link out of its field.
            let job = try await fixture.job(.remove, of: id)
            try await fixture.perform(job)
            #expect(try await fixture.open(link, token: fixture.token("amy")).body == picture)
            #expect(fixture.files(of: picture).count == 1)
            // And no longer.
            try await fixture.messages.updateOne(["_id": .string(id)], ["$unset": ["file.url": ""]])
            try await eventually("the photo is removed") {
                try await fixture.objects(of: picture) == 0 && fixture.files(of: picture).isEmpty
            }
        }

        @Test func `a link that is committed while references are looked through keeps its photo`() async throws {
            let fixture = try await MediaFixture.shared()
            let former = Array("former \(UUID().uuidString)".utf8) + Array(repeating: 6, count: 5000)
            let picture = Array("meanwhile \(UUID().uuidString)".utf8) + Array(repeating: 6, count: 5000)
            let id = try await fixture.insert(former)
            _ = try await fixture.movedImage(of: id, picture: former)
            try await fixture.settled(id)
            // Another instance has a late job of the document; it sees the document as it was before it had any picture.
            let job = try await fixture.job(.remove, of: id)
            let looks = Locked(0)
            try await MediaTable(client: fixture.engines.postgres).keep(for: job) { _ in
                looks.withLock { $0 += 1 }
                try await fixture.messages.updateOne(
                    ["_id": .string(id)], ["$set": ["file": ["data": .binary(Binary(picture))]]])
                try await eventually("the picture is moved", within: patience) {
                    try await fixture.messages.findOne(["_id": .string(id)])?.value(at: "file.url")?.stringValue != nil
                }
                return ([], nil)
            }
            #expect(looks.withLock { $0 } == 1)
            #expect(try await fixture.objects(of: former) == 0)
            try await fixture.settled(id)
            #expect(try await fixture.objects(of: picture) == 1)
            #expect(fixture.files(of: picture).count == 1)
            let link = try #require(
                try await fixture.messages.findOne(["_id": .string(id)])?.value(at: "file.url")?.stringValue)
            try await fixture.grant("read", to: "amy", on: id)
            #expect(try await fixture.open(link, token: fixture.token("amy")).body == picture)
        }

        @Test func `whoever takes the _id of a deleted document doesn't get its photo`() async throws {
            let fixture = try await MediaFixture.shared()
            let picture = Array("hers \(UUID().uuidString)".utf8) + Array(repeating: 6, count: 5000)
            let id = try await fixture.insert(picture)
            let link = try #require(try await fixture.movedImage(of: id)["pictureURL"]?.stringValue)
            try await fixture.settled(id)
            let other = UUID().uuidString
            try await fixture.grant("write", to: "eve", on: other)
            // While the store is away, the photo of the deleted document stays in it.
            fixture.storage.state.withLock { $0.isAway = true }
            try await fixture.messages.deleteOne(["_id": .string(id)])
            try await fixture.messages.insertOne([
                "_id": .string(id), "partition": .string("conversation=\(other)"), "text": "mine now",
                "image": ["pictureURL": .string(link)],
            ])
            fixture.storage.state.withLock { $0.isAway = false }
            #expect(try await fixture.open(link, token: fixture.token("eve")).status == 404)
            try await eventually("the photo is removed", within: patience) {
                try await fixture.objects(of: picture) == 0 && fixture.files(of: picture).isEmpty
            }
            #expect(try await fixture.open(link, token: fixture.token("eve")).status == 404)
        }

        @Test func `a photo of an earlier version is bound to its document, and stays through a rename`() async throws {
            let fixture = try await MediaFixture.shared()
            let picture = Array("earlier \(UUID().uuidString)".utf8) + Array(repeating: 6, count: 5000)
            let id = try await fixture.insert(picture)
            let link = try #require(try await fixture.movedImage(of: id)["pictureURL"]?.stringValue)
            try await fixture.grant("read", to: "amy", on: id)
            try await fixture.settled(id)
            let postgres = fixture.engines.postgres
            func setNull() async throws {
                try await postgres.execute(
                    "update partita.media_references set insertion = null where _id = $1", [.text("s:\(id)")])
            }
            func number() async throws -> Int64? {
                try await postgres.query(
                    "select insertion from partita.media_references where _id = $1", [.text("s:\(id)")]
                ).decode(Int64?.self).first ?? nil
            }
            let before = try await number()
            try await setNull()
            #expect(try await fixture.open(link, token: fixture.token("amy")).status == 200)
            try await fixture.messages.updateOne(
                ["_id": .string(id)], ["$rename": ["image.pictureURL": "file.url"]])
            try await fixture.perform(try await fixture.job(.remove, of: id))
            #expect(try await fixture.open(link, token: fixture.token("amy")).body == picture)

            try await setNull()
            let numbering = ReferenceNumbering(
                table: MediaTable(client: postgres), store: fixture.engines.store, apps: fixture.engines.apps,
                logger: Logger(label: "test"))
            let run = Task { try await numbering.run() }
            try await eventually("the reference has its number") { try await number() == before }
            run.cancel()
            try await run.value
        }

        @Test func `a photo that its document's schema keeps in the document leaves nothing in the store`() async throws
        {
            let fixture = try await MediaFixture.shared()
            let scan = Array("kept \(UUID().uuidString)".utf8) + Array(repeating: 6, count: 5000)
            let id = UUID().uuidString
            let signed = fixture.engines.store.collection("Signed", database: "RChat", app: fixture.app)
            try await signed.insertOne([
                "_id": .string(id), "partition": .string("conversation=\(id)"), "scan": .binary(Binary(scan)),
            ])
            try await eventually("it was tried") { try await fixture.rows("media_references", of: id) == 1 }
            try await eventually("it is given up", within: .seconds(60)) {
                try await fixture.rows("media_jobs", of: id) == 0
            }
            #expect(try await fixture.rows("media_references", of: id) == 0)
            #expect(try await fixture.objects(of: scan) == 0)
            #expect(fixture.files(of: scan).isEmpty)
            #expect(try await signed.findOne(["_id": .string(id)])?["scan"] == .binary(Binary(scan)))
        }

        @Test(arguments: [false, true])
        func `bytes that the store has lost, or a part of them, are stored again when they come again`(
            isCut: Bool
        ) async throws {
            let fixture = try await MediaFixture.shared()
            let picture = Array("again \(UUID().uuidString)".utf8) + Array(repeating: 6, count: 5000)
            let first = try await fixture.insert(picture)
            _ = try await fixture.movedImage(of: first)
            let path = try #require(fixture.files(of: picture).first)
            if isCut { try Data(picture.prefix(7)).write(to: URL(fileURLWithPath: path)) }
            if !isCut { try FileManager.default.removeItem(atPath: path) }
            let second = try await fixture.insert(picture)
            let link = try #require(try await fixture.movedImage(of: second)["pictureURL"]?.stringValue)
            try await fixture.grant("read", to: "amy", on: second)
            #expect(try await fixture.open(link, token: fixture.token("amy")).body == picture)
        }

        @Test func `a replaced photo is removed, unless another document has it`() async throws {
            let fixture = try await MediaFixture.shared()
            let mine = Array("mine \(UUID().uuidString)".utf8) + Array(repeating: 5, count: 5000)
            let shared = Array("ours \(UUID().uuidString)".utf8) + Array(repeating: 6, count: 5000)
            let first = try await fixture.insert(mine)
            let second = try await fixture.insert(shared)
            let third = try await fixture.insert(shared)
            for id in [first, second, third] { _ = try await fixture.movedImage(of: id) }
            #expect(fixture.files(of: shared).count == 1)

            let next = Array("next \(UUID().uuidString)".utf8) + Array(repeating: 5, count: 5000)
            for id in [first, second] {
                try await fixture.replacePicture(of: id, by: next)
                _ = try await fixture.movedImage(of: id, picture: next)
                try await fixture.settled(id)
            }
            #expect(fixture.files(of: mine).isEmpty)
            #expect(fixture.files(of: shared).count == 1)
            #expect(try await fixture.rows("media_references", of: first) == 1)
            let event = try await eventually("the removal is announced") {
                fixture.events(of: first).first { $0.kind == .removed }
            }
            #expect(event.object == SHA256.hex(mine))

            try await fixture.messages.deleteOne(["_id": .string(third)])
            try await eventually("the last one is removed with its document") {
                try await fixture.objects(of: shared) == 0 && fixture.files(of: shared).isEmpty
            }
        }
    }
}
