import DocumentModel

/// A grant that was removed, in the version that it had.
struct RemovedGrant: Sendable {
    let subject: Subject
    let version: Revision
}
