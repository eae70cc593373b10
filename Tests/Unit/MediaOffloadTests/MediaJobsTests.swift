import DocumentModel
import EventTopics
import Testing

@testable import AppDefinition
@testable import MediaOffload

struct MediaJobsTests {
    private static let field = MediaField(
        database: "RChat", collection: "ChatMessage", field: "image.picture", linkField: "image.pictureURL",
        thumbnailField: nil, thumbnailPixels: 100, minimumBytes: 4)
    private static let digest = String(repeating: "ab", count: 32)
    private static let link = MediaLink(app: "rchat", namespace: field.namespace, id: "s:1", digest: digest).url(
        base: "")

    private func jobs(
        _ type: ChangeEvent.OperationType, before: Document? = nil, after: Document? = nil, hasMoved: Bool = false
    ) -> [String] {
        let revision = Revision(epoch: 1, number: 7)
        let partition = Partition(text: "s:p")
        let change = ChangeEvent(
            app: "rchat", namespace: Self.field.namespace, operationType: type, documentKey: "1", partition: partition,
            revision: revision, incarnation: revision, fullDocument: after, fullDocumentBeforeChange: before,
            movedFrom: hasMoved ? .init(partition: partition, revision: revision) : nil,
            clusterTime: Timestamp(seconds: 1, increment: 1), wallTime: 1)
        return MediaJob.jobs(for: change, Self.field).map { "\($0.kind) \($0.object?.prefix(2) ?? "")" }
    }

    private func document(picture: [UInt8]? = nil, link: String? = nil) -> Document {
        var image: Document = [:]
        if let picture { image["picture"] = .binary(Binary(picture)) }
        if let link { image["pictureURL"] = .string(link) }
        return ["_id": "1", "image": .document(image)]
    }

    @Test func `a binary is moved unless it is small`() {
        #expect(jobs(.insert, after: document(picture: [1, 2, 3, 4])) == ["offload "])
        #expect(jobs(.insert, after: document(picture: [1, 2, 3])).isEmpty)
        #expect(jobs(.insert, after: ["_id": "1", "image": ["picture": "a text"]]).isEmpty)
    }

    @Test func `the object of a link is removed when the link is removed`() {
        let linked = document(link: Self.link)
        #expect(jobs(.update, before: linked, after: linked).isEmpty)
        #expect(jobs(.update, before: linked, after: document()) == ["remove ab"])
        #expect(jobs(.update, before: linked, after: document(link: "https://elsewhere.example")) == ["remove ab"])
        #expect(jobs(.delete, before: linked) == ["remove ab"])
        #expect(jobs(.update, before: linked, after: document(picture: [1, 2, 3, 4])) == ["offload ", "remove ab"])
        #expect(jobs(.update, before: document(link: "https://elsewhere.example"), after: document()).isEmpty)
    }

    @Test func `a document that moves to another partition keeps its media`() {
        #expect(jobs(.delete, before: document(link: Self.link), hasMoved: true).isEmpty)
    }
}
