/// What is stored of a changeset that has more to report than its revision.
public enum UploadOutcome: Sendable {
    /// It was committed without these writes.
    case lost([LostWrite])
    /// It was rejected.
    case rejected(OperationRejection)
}
