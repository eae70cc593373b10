import DocumentModel

/// A document as the server stores it.
public struct StoredDocument: Sendable {
    /// The fields, `_id` included.
    public var document: Document
    /// The revision of the insert that created the document.
    public var incarnation: Revision
    /// The revision of its last change.
    public var revision: Revision
    /// When, by whom and at which revision its paths were written.
    public var clocks: FieldClocks

    public init(document: Document, incarnation: Revision, revision: Revision, clocks: FieldClocks) {
        self.document = document
        self.incarnation = incarnation
        self.revision = revision
        self.clocks = clocks
    }

    /// Replaces the provisional revisions, for a writer that learns the real ones only after the rules have run.
    ///
    /// - Parameter assigned: Returns the revision that was assigned in place of a provisional one.
    public mutating func mapRevisions(_ assigned: (Revision) -> Revision) {
        if incarnation.isProvisional { incarnation = assigned(incarnation) }
        if revision.isProvisional { revision = assigned(revision) }
        clocks.mapRevisions { $0.isProvisional ? assigned($0) : $0 }
    }
}
