/// What is stored of a changeset that has more to be said about than its revision.
public enum UploadOutcome: Sendable {
    /// It was committed without these.
    case lost([LostWrite])
    /// It was refused.
    case rejected(OperationRejection)
}
