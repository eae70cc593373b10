public import DocumentModel
public import SyncEngine

/// What happened on a simulated server, with its answers: a document store to which the same happens has to answer the same.
public enum ServerCall: Sendable {
    /// An upload, by a user who may write these partitions.
    case commit(Upload, mayWrite: Set<Partition>, UploadResult)
    /// A write from the server's side.
    case set(field: String, Value, of: DocumentKey)
    /// A device begins to be served.
    case subscribe(checkpoint: Revision, ResumeToken?, ResumePoint)
    /// A chunk of a catch-up of the partition.
    case read(after: ResumePoint, limit: Int, device: String, CatchUpChunk<Download>)
    case dropTombstones
    case backUp
    /// Back to the last backup, under a new epoch.
    case restore
}
