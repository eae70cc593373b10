public import DocumentModel

/// The conflict rules: one per kind of operation, pure, the same wherever they run.
public enum ConflictRules {
    /// Decides an operation against the document as it is.
    ///
    /// - Parameters:
    ///   - operation: What a device meant.
    ///   - stamp: The device, and the changeset's time after correction.
    ///   - revision: The revision that the change takes. A writer that learns it later gives a `Revision.provisional` one, and
    ///     replaces it with `FieldClocks.mapRevisions` before it stores.
    ///   - stored: The document in the operation's partition; `nil` when there is none.
    public static func apply(
        _ operation: Operation, by stamp: WriteStamp, revision: Revision, to stored: StoredDocument?
    ) -> OperationOutcome {
        .rejected(OperationRejection(code: .badUpdate, reason: "not written yet"))
    }
}

extension Revision {
    /// A revision later than all real ones, for a change whose revision isn't assigned yet. Provisional ones keep their order.
    public static func provisional(_ ordinal: Int64) -> Revision { Revision(epoch: .max, number: ordinal) }

    /// Whether it stands for one that isn't assigned yet.
    public var isProvisional: Bool { epoch == .max }
}
