import DocumentModel
import DocumentStore
import EventTopics
import QueryLanguage

extension ChangeRow {
    /// The change event, with its documents parsed.
    ///
    /// The first half of a move, the removal from the old partition, is a `delete` whose `movedFrom` is its own partition and
    /// revision; triggers skip it.
    func event() throws(DocumentStoreError) -> ChangeEvent {
        let before = try parsed(before)
        let after = try parsed(after)
        guard let key = (after ?? before)?["_id"] ?? Value(idText: idText) else {
            throw DocumentStoreError(.corruptRow, "a change row has no _id")
        }
        var description: UpdateDescription?
        if operation == .update, let before, let after { description = DocumentDifference.between(before, after) }
        return ChangeEvent(
            app: app, namespace: namespace, operationType: operation, documentKey: key, partition: partition,
            revision: revision, incarnation: incarnation, fullDocument: after, fullDocumentBeforeChange: before,
            updateDescription: description, movedFrom: moved, origin: origin, causedBy: try chain(),
            clusterTime: clusterTime, wallTime: wallTime, continues: continues)
    }

    /// The event that only names the change, for a change whose documents are too large to be sent.
    func largeChange() throws(DocumentStoreError) -> LargeChange {
        guard let key = Value(idText: idText) else {
            throw DocumentStoreError(.corruptRow, "a change row has no _id")
        }
        return LargeChange(
            app: app, namespace: namespace, operationType: operation, documentKey: key, partition: partition,
            revision: revision, incarnation: incarnation, movedFrom: moved, origin: origin, size: Int64(size),
            wallTime: wallTime, continues: continues)
    }

    private var clusterTime: Timestamp {
        Timestamp(
            seconds: UInt32(clamping: wallTime / 1000), increment: UInt32(truncatingIfNeeded: revision.number))
    }

    private func chain() throws(DocumentStoreError) -> TriggerChain? {
        guard let triggerChain else { return nil }
        do {
            return try TriggerChain(ExtendedJSON.parseDocument(triggerChain))
        } catch {
            throw DocumentStoreError(.corruptRow, "a change row's chain of triggers can't be read", underlying: error)
        }
    }

    private func parsed(_ body: [UInt8]?) throws(DocumentStoreError) -> Document? {
        guard let body else { return nil }
        do {
            return try ExtendedJSON.parseDocument(body)
        } catch {
            throw DocumentStoreError(.corruptRow, "a change row's document isn't Extended JSON", underlying: error)
        }
    }
}
