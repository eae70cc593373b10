import DocumentModel
import SyncEngine
import Testing

@testable import SyncGateway

@Suite struct FeedChangeTests {
    @Test func `what the topic brings has the bytes of the stored text`() throws {
        let document: Document = [
            "_id": "a", "small": .double(1.5e-7), "large": .double(1e23), "least": .double(.leastNonzeroMagnitude),
            "date": .date(-1),
        ]
        let revision = Revision(epoch: 1, number: 1)
        let event = ChangeEvent(
            app: "rchat", namespace: .init(database: "RChat", collection: "ChatMessage"), operationType: .insert,
            documentKey: "a", partition: Partition(text: "s:p"), revision: revision, incarnation: revision,
            fullDocument: document, clusterTime: Timestamp(seconds: 0, increment: 0), wallTime: 0)
        #expect(FeedChange.event(event).body == (try document.storedBody()))
    }
}
