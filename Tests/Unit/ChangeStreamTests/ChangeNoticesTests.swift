import DocumentModel
import EventStream
import EventTopics
import Kafka
import Testing

@testable import ChangeStream

@Suite struct ChangeNoticesTests {
    private func message(
        _ collection: String, _ number: Int64 = 1, key: String? = "a/s:p", changing header: (String, String)? = nil
    ) -> KafkaMessage {
        var headers: [String: String] = [
            EventEnvelope.Header.type: DocumentChangesEvent.changedType,
            EventEnvelope.Header.id: "a/s:p/1.\(number)", EventEnvelope.Header.subject: "db.\(collection)/s:x",
        ]
        if let header { headers[header.0] = header.1 }
        var list = KafkaHeaders()
        for (name, value) in headers { list.append(name, value) }
        return KafkaMessage(
            topicPartition: .init(topic: "t", partition: 0), offset: number, key: key.map { Array($0.utf8) },
            value: Array("no JSON".utf8), headers: list)
    }

    private func passed(_ messages: [KafkaMessage], concerned: (inout ConcernedCollections) -> Void) -> [Bool] {
        var collections = ConcernedCollections()
        concerned(&collections)
        return ChangeNotices(messages).outside(of: collections).skipped
    }

    @Test func `changes of collections without a consumer are skipped, with their revisions`() {
        var concerned = ConcernedCollections()
        concerned.add("a", database: "db", collection: "seen")
        let notices = ChangeNotices([message("seen", 1), message("other", 2), message("seen.too", 3)])
        #expect(notices.apps == ["a"])
        let (passed, changes) = notices.outside(of: concerned)
        #expect(passed == [false, true, true])
        #expect(changes.map(\.revision.number) == [2, 3])
        #expect(Set(changes.map(\.key)) == [.init(app: "a", partition: Partition(text: "s:p"))])
    }

    @Test func `whole databases, whole apps, and collections with slashes are seen`() {
        let messages = [message("c"), message("c/d"), message("e")]
        #expect(passed(messages) { $0.add("a", database: "db", collection: nil) } == [false, false, false])
        #expect(passed(messages) { $0.addEverything(of: "a") } == [false, false, false])
        #expect(passed(messages) { $0.add("a", database: "db", collection: "c/d") } == [true, false, true])
        #expect(passed(messages) { $0.add("a", database: "d", collection: nil) } == [true, true, true])
        #expect(passed(messages) { $0.addEverything(of: "b") } == [true, true, true])
    }

    @Test func `heads have no effect`() {
        let head = message("c", changing: (EventEnvelope.Header.type, DocumentChangesEvent.headType))
        let (passed, changes) = ChangeNotices([head]).outside(of: ConcernedCollections())
        #expect(passed == [true])
        #expect(changes.isEmpty)
    }

    @Test func `what isn't in the contract is not skipped`() {
        let strange = [
            message("c", key: nil), message("c", key: "a"),
            message("c", changing: (EventEnvelope.Header.type, "partita.document.changed.v9")),
            message("c", changing: (EventEnvelope.Header.id, "a/s:p/x")),
            message("c", changing: (EventEnvelope.Header.id, "a/s:pq/1.1")),
            message("c", changing: (EventEnvelope.Header.id, "b/s:p/1.1")),
        ]
        #expect(passed(strange) { _ in } == strange.map { _ in false })
    }
}
