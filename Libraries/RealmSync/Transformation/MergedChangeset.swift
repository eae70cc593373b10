/// A changeset of one side of a merge.
public struct MergedChangeset: Sendable {
    /// The changeset; after the merge, the transformed one.
    public var changeset: Changeset
    /// When and where it was made.
    public let origin: ChangesetOrigin
    /// Whether a merge has changed it. A history stores such a changeset in its new form.
    public var isModified = false

    /// A changeset that wasn't merged yet.
    public init(_ changeset: Changeset, origin: ChangesetOrigin) {
        self.changeset = changeset
        self.origin = origin
    }
}
