public import DocumentModel

/// A change of a document, as a commit has made it.
public struct CommittedChange: Sendable {
    public let namespace: ChangeEvent.Namespace
    /// The text form of the `_id`.
    public let id: String
    public let revision: Revision
    /// The revision of the document's insert.
    public let incarnation: Revision
    public let origin: ChangeEvent.Origin?
    /// The document's canonical text; `nil` when it was deleted, or has left the partition.
    public let body: [UInt8]?
}

extension WritePlan {
    /// The changes of the committed plan in each of some partitions, in the order of their revisions.
    /// - Parameter heads: The heads that the commit has moved, of all partitions or some.
    public func changes(of heads: [CommittedHead]) -> [(
        head: CommittedHead, from: Revision, changes: [CommittedChange]
    )] {
        var places: [ExactText: Int] = [:]
        var taken = heads.enumerated().map { place, head in
            places[ExactText(head.partition.text)] = place
            let from = Revision(
                epoch: head.revision.epoch, number: head.revision.number - count(in: head.partition))
            return (head: head, from: from, changes: [(ordinal: Int64, change: CommittedChange)]())
        }
        for key in order {
            guard let document = documents[key] else { continue }
            for change in document.changes {
                guard let place = places[ExactText(change.partition.text)] else { continue }
                let from = taken[place].from
                let revision = { (ordinal: Int64) in Revision(epoch: from.epoch, number: from.number + ordinal) }
                let incarnation = change.incarnation
                taken[place].changes.append(
                    (
                        change.ordinal,
                        CommittedChange(
                            namespace: document.namespace, id: document.id, revision: revision(change.ordinal),
                            incarnation: incarnation.isProvisional ? revision(incarnation.number) : incarnation,
                            origin: change.origin, body: change.after)
                    ))
            }
        }
        return taken.map { head, from, changes in
            (head, from, changes.sorted { $0.ordinal < $1.ordinal }.map(\.change))
        }
    }
}
