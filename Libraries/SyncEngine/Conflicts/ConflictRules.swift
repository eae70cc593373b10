import DocumentModel

/// The conflict rules, one for each kind of operation. They are pure functions, with the same result wherever they run.
///
/// They decide against the current document when the operation arrives at the server; the order of arrival is the order of the
/// results. All devices apply the results in that order and so converge. `UpdateRules` has the rules for single paths.
public enum ConflictRules {
    /// Decides an operation against the current document.
    ///
    /// - Parameters:
    ///   - operation: The operation of a device.
    ///   - stamp: The device, and the changeset's time after correction.
    ///   - revision: The revision that the change takes. A writer that learns it later passes a `Revision.provisional` one, and
    ///     replaces it with `StoredDocument.mapRevisions` before it stores the document.
    ///   - stored: The document in the operation's partition; `nil` when there is none.
    public static func apply(
        _ operation: Operation, by stamp: WriteStamp, revision: Revision, to stored: StoredDocument?
    ) -> OperationOutcome {
        guard let idText = operation.id.idText else {
            return .rejected(.noId)
        }
        switch operation.kind {
        case .insert(let document):
            guard let own = document["_id"]?.idText, own.hasSameBytes(as: idText) else {
                return .rejected(
                    OperationRejection(code: .badId, reason: "the document's _id is not the operation's", path: "_id"))
            }
            return insert(document, operation: operation, by: stamp, revision: revision, onto: stored)
        case .update(let operators, let arrayFilters):
            guard let stored, isMeant(stored, by: operation) else { return .droppedDeleted }
            let rules = UpdateRules(stored: stored, base: operation.base, stamp: stamp, revision: revision)
            return rules.apply(operators, arrayFilters: arrayFilters)
        case .delete:
            guard let stored else { return .applied(AppliedOperation(change: .none, document: nil)) }
            guard isMeant(stored, by: operation) else { return .droppedDeleted }
            return .applied(AppliedOperation(change: .deleted, document: nil))
        }
    }

    private static func insert(
        _ document: Document, operation: Operation, by stamp: WriteStamp, revision: Revision,
        onto stored: StoredDocument?
    ) -> OperationOutcome {
        guard let stored else {
            let inserted = StoredDocument(
                document: document, incarnation: revision, revision: revision,
                clocks: FieldClocks(inserted: stamp, revision: revision))
            return .applied(AppliedOperation(change: .inserted, document: inserted))
        }
        let fields = document.fields.filter { $0.key != "_id" }
        if fields.isEmpty { return .applied(AppliedOperation(change: .none, document: stored)) }
        let rules = UpdateRules(stored: stored, base: operation.base, stamp: stamp, revision: revision)
        return rules.merge(Document(fields: fields))
    }

    /// An operation without an incarnation follows the device's own insert, whose document is the present one.
    private static func isMeant(_ stored: StoredDocument, by operation: Operation) -> Bool {
        operation.incarnation == nil || operation.incarnation == stored.incarnation
    }
}

extension Revision {
    /// A revision later than all real ones, for a change whose revision isn't assigned yet. Provisional ones keep their order.
    public static func provisional(_ ordinal: Int64) -> Revision { Revision(epoch: .max, number: ordinal) }

    /// Whether it stands for one that isn't assigned yet.
    public var isProvisional: Bool { epoch == .max }
}
