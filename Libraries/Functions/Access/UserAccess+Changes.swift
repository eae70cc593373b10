import AppDefinition
public import DocumentModel
import DocumentStore
import QueryLanguage

extension UserAccess {
    /// What a user sees of a change of a document.
    public enum ChangeView: Sendable {
        /// All of it.
        case whole
        /// A part of it, as the change of the part of the document that the user sees. It has no document before the change.
        case part(ChangeEvent)
    }

    /// What the user sees of a change: how it changes what the user's `find` finds in the collection.
    ///
    /// A document that comes into the user's sight is an insert, one that leaves it a delete, whatever its own change was. Hidden fields
    /// affect nothing: a change that only they have isn't seen, and the description of an update is that of the visible parts.
    ///
    /// - Parameters:
    ///   - change: with the document before it, unless it is an insert. Without, it counts as hidden before.
    ///   - service: the data source whose rules apply.
    ///   - now: the time of `$$NOW` in the app's filters, in milliseconds since 1970.
    /// - Returns: `nil` when the user sees nothing of it.
    /// - Throws: `RuleRefusal` for a collection without rules; otherwise as ``DataAccess/perform(_:on:app:)``.
    public func view(of change: ChangeEvent, service: String, now: Int64) async throws -> ChangeView? {
        guard let rules = rules(of: change.namespace, service: service) else {
            throw RuleRefusal.noRules(for: change.namespace)
        }
        let answers = answers()
        let request = RuleRequest(context: context) { try await answers.askNow($0, $1) }
        let query = try await RuledQuery(
            [:], collation: nil, rules: rules, restriction: rules.restriction(of: request), request: request, now: now)
        let (before, after) = (change.fullDocumentBeforeChange, change.fullDocument)
        let seenBefore = try await before.flatMap { try await query.found($0) }
        let seenAfter = try await after.flatMap { try await query.found($0) }
        var part = change
        part.fullDocumentBeforeChange = nil
        part.fullDocument = seenAfter
        switch (seenBefore, seenAfter) {
        case (nil, nil): return nil
        case (nil, let seen?):
            if change.operationType == .insert, Self.isWhole(seen, after) { return .whole }
            part.operationType = .insert
            part.updateDescription = nil
        case (.some, nil):
            if change.operationType == .delete { return .whole }
            part.operationType = .delete
            part.updateDescription = nil
        case (let old?, let new?):
            if old.isIdentical(to: new) { return nil }
            if Self.isWhole(old, before), Self.isWhole(new, after) { return .whole }
            if change.operationType == .update { part.updateDescription = DocumentDifference.between(old, new) }
        }
        return .part(part)
    }

    /// Refuses a collection without rules, as every call of it is refused.
    /// - Throws: `RuleRefusal`.
    public func checkRules(of namespace: ChangeEvent.Namespace, service: String) throws(RuleRefusal) {
        guard rules(of: namespace, service: service) != nil else { throw RuleRefusal.noRules(for: namespace) }
    }

    private static func isWhole(_ seen: Document, _ stored: Document?) -> Bool {
        stored.map { seen.isIdentical(to: $0) } ?? false
    }
}

extension Document? {
    fileprivate func flatMap(_ body: (Document) async throws -> Document?) async throws -> Document? {
        guard let self else { return nil }
        return try await body(self)
    }
}
