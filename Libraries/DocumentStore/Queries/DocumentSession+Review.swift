public import DocumentModel
import QueryLanguage
import SyncEngine

/// A document that a write found: as it was, and as it will be. One of them may be missing; both are the same if the write changed
/// nothing. A document that can't be inserted, since there is one with its `_id`, is one, too.
public struct MetDocument: Sendable {
    public let namespace: ChangeEvent.Namespace
    public let before: Document?
    public let after: Document?
}

/// Limits writes to the parts of documents that their author may see: a write finds documents by that view, changes the view, and
/// the change is merged into the document.
public protocol WriteReview: Sendable {
    /// A write's query under review.
    func query(_ filter: Document, sort: Document?, collation: Document?) throws -> any ReviewedQuery
}

/// The query of a write under review.
public protocol ReviewedQuery: Sendable {
    /// The filter that the store searches with. The documents that it finds are then checked with ``view(of:)``.
    var stored: Document { get }
    /// The filter whose equalities an upsert puts into its document.
    var inserted: Document { get }
    /// The part of a document that the author sees; `nil` if this query doesn't find it.
    func view(of document: Document) async throws -> Document?
    /// The document with the author's change: the author saw `view` and turned it into `changed`.
    func merging(_ changed: Document, madeOf view: Document, into document: Document) async throws -> Document
    /// The error that the author gets for an error about a document.
    func told(_ error: DocumentStoreError, about document: Document) async throws -> any Error
}

extension DocumentSession {
    /// Runs writes under review, and returns which documents they found, so that the caller can check them before the transaction
    /// continues.
    ///
    /// One review at a time.
    public func reviewing<R: Sendable>(
        by review: any WriteReview, _ writes: @Sendable (DocumentSession) async throws -> R
    ) async throws -> (result: R, met: [MetDocument]) {
        plan.met = []
        self.review = review
        defer {
            plan.met = nil
            self.review = nil
        }
        let result = try await writes(self)
        return (result, plan.met ?? [])
    }

    /// Whether the write's author finds a document that the store's filter has found.
    func admits(_ document: Document, _ target: Target) async throws -> Bool {
        guard let reviewed = target.reviewed else { return true }
        return try await reviewed.query.view(of: document) != nil
    }

    /// Applies an update to its author's view of a locked document.
    func update(
        _ key: WritePlan.Key, of target: Target, _ reviewed: Target.Reviewed, with update: Update,
        operation: ChangeEvent.OperationType
    ) async throws -> Updated {
        guard let before = plan[key]?.current?.stored.document,
            let view = try await reviewed.query.view(of: before)
        else { return Updated(before: nil, after: nil, isModified: false) }
        var changed = view
        let description = try update.applied(to: &changed, filter: reviewed.filter, now: now)
        let after =
            changed.isIdentical(to: view)
            ? before : try await reviewed.query.merging(changed, madeOf: view, into: before)
        do {
            let isModified = try write(
                after, over: key, in: target.table, description: description, operation: operation)
            return Updated(before: before, after: after, isModified: isModified)
        } catch let error as DocumentStoreError {
            throw try await reviewed.query.told(error, about: after)
        }
    }
}
