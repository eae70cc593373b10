public import DocumentModel

/// A document that a write met: as it was, and as it will be. One of them may be missing; both are the same where the write changed
/// nothing.
public struct MetDocument: Sendable {
    public let namespace: ChangeEvent.Namespace
    public let before: Document?
    public let after: Document?
}

extension DocumentSession {
    /// Runs writes, and tells which documents they met: for those who have to agree before the transaction goes on.
    ///
    /// One review at a time.
    public func reviewing<R: Sendable>(
        _ writes: @Sendable (DocumentSession) async throws -> R
    ) async throws -> (result: R, met: [MetDocument]) {
        met = []
        defer { met = nil }
        let result = try await writes(self)
        return (result, met ?? [])
    }
}
