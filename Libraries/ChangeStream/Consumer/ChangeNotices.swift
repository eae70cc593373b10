import DocumentModel
import EventTopics
import Kafka

/// What keys and headers of `document-changes` say of a batch: enough to pass over what concerns nobody, without its documents.
struct ChangeNotices {
    private let messages: [KafkaMessage]
    /// Of each message the place of its partition; `nil` when its key is none.
    private let places: [Int?]
    let partitions: [PartitionKey]
    /// Whose changes there are.
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

    /// The first change of each of these partitions.
    func firsts(of wanted: Set<PartitionKey>) -> [PartitionKey: Revision] {
        var firsts: [PartitionKey: Revision] = [:]
        for (index, place) in places.enumerated() {
            guard let place, wanted.contains(partitions[place]), firsts[partitions[place]] == nil else { continue }
            firsts[partitions[place]] = revision(of: messages[index])
        }
        return firsts
    }

    /// What doesn't have to be seen: which messages, and the changes that they are about. What says something that isn't in the
    /// contract has to be.
    /// - Parameter isBehind: whether changes of a partition mustn't be handled before older ones.
    func outside(
        of concerned: ConcernedCollections, isBehind: (PartitionKey) -> Bool = { _ in false }
    ) -> (passed: [Bool], changes: [(key: PartitionKey, revision: Revision)]) {
        var changes: [(key: PartitionKey, revision: Revision)] = []
        let behind = partitions.map(isBehind)
        let passed = messages.indices.map { index -> Bool in
            guard let place = places[index], !behind[place] else { return false }
            let partition = partitions[place]
            let headers = messages[index].headers
            guard let type = headers[EventEnvelope.Header.type] else { return false }
            if type == DocumentChangesEvent.headType { return true }
            guard type == DocumentChangesEvent.changedType || type == DocumentChangesEvent.largeType,
                let subject = headers.value(EventEnvelope.Header.subject),
                !concerned.contains(partition.app, subject: subject),
                let revision = revision(of: messages[index])
            else { return false }
            changes.append((partition, revision))
            return true
        }
        return (passed, changes)
    }

    /// An event's id is its key and its revision.
    private func revision(of message: KafkaMessage) -> Revision? {
        guard let key = message.key, let id = message.headers.value(EventEnvelope.Header.id), id.starts(with: key),
            id.dropFirst(key.count).first == UInt8(ascii: "/")
        else { return nil }
        return Revision(String(decoding: id.dropFirst(key.count + 1), as: UTF8.self))
    }
}
