import DocumentModel
import EventStream
import EventTopics
import Kafka

/// The information in the keys and headers of a batch of `document-changes`, which suffices to skip changes without effect without
/// decoding them.
struct ChangeNotices {
    private let messages: [KafkaMessage]
    /// By message, the index of its partition in `partitions`; `nil` if its key doesn't name a partition.
    private let places: [Int?]
    let partitions: [PartitionKey]
    /// The apps whose changes are in the batch.
    let apps: Set<ExactText>

    init(_ messages: [KafkaMessage]) {
        self.messages = messages
        var known: [[UInt8]: Int?] = [:]
        var partitions: [PartitionKey] = []
        places = messages.map { message in
            guard let key = message.key else { return nil }
            if let place = known[key] { return place }
            guard let text = String(validating: key, as: UTF8.self),
                let (app, partition) = DocumentChangesEvent.parse(key: text)
            else {
                known[key] = .some(nil)
                return nil
            }
            known[key] = partitions.count
            partitions.append(.init(app: app, partition: partition))
            return partitions.count - 1
        }
        self.partitions = partitions
        apps = Set(texts: partitions.lazy.map(\.app))
    }

    /// A partition's first change in the batch.
    struct First {
        let revision: Revision
        /// As `database.collection`; `nil` if the message doesn't say it.
        var collection: ExactText?
    }

    /// Returns the first change in the batch of each of these partitions.
    func firsts(of wanted: Set<PartitionKey>) -> [PartitionKey: First] {
        var firsts: [PartitionKey: First] = [:]
        for (index, place) in places.enumerated() {
            guard let place, wanted.contains(partitions[place]), firsts[partitions[place]] == nil else { continue }
            let event = RawEvent<DocumentChangesEvent>(messages[index])
            firsts[partitions[place]] = event.revision.map { First(revision: $0, collection: event.collection) }
        }
        return firsts
    }

    /// Returns which messages don't have to be handled, and the changes that they carry. Messages that don't follow the topic's contract
    /// have to be handled.
    /// - Parameter isBehind: whether a partition's changes must wait for older ones, and so must not count as handled.
    func outside(
        of concerned: ConcernedCollections, isBehind: (PartitionKey) -> Bool = { _ in false }
    ) -> (skipped: [Bool], changes: [(key: PartitionKey, revision: Revision)]) {
        var changes: [(key: PartitionKey, revision: Revision)] = []
        let behind = partitions.map(isBehind)
        let skipped = messages.indices.map { index -> Bool in
            guard let place = places[index], !behind[place] else { return false }
            let partition = partitions[place]
            let event = RawEvent<DocumentChangesEvent>(messages[index])
            if event.message.headers[EventEnvelope.Header.type] == DocumentChangesEvent.headType { return true }
            guard event.isChange, !event.concerns(concerned, of: partition.app), let revision = event.revision
            else { return false }
            changes.append((partition, revision))
            return true
        }
        return (skipped, changes)
    }
}
