import AppDefinition
public import DocumentModel
public import DocumentStore

extension UserAccess {
    /// What a user may do with a document.
    public enum Reach: Sendable {
        /// The user finds no such document.
        case none
        /// The user sees the document, or a part of it.
        case read
        /// The user may also delete the document, or remove at least one of its fields.
        case write
    }

    /// What the user may do with documents of a collection. Nothing is changed.
    ///
    /// - Parameters:
    ///   - documents: as they are stored, each with its `_id`.
    ///   - service: the data source of the collection, as in calls.
    ///   - store: has to know the collection.
    /// - Returns: the answers, in the order of the documents.
    /// - Throws: as ``DataAccess/perform(_:on:app:)``, except that a collection without rules is within nobody's reach.
    public func reach(
        of documents: [Document], in namespace: ChangeEvent.Namespace, service: String, on store: DocumentStore
    ) async throws -> [Reach] {
        let ids = documents.compactMap { $0["_id"] }
        let call = try DocumentCall(
            action: "find",
            arguments: [
                "database": .string(namespace.database), "collection": .string(namespace.collection),
                "query": ["_id": ["$in": .array(ids)]],
            ], service: service)
        let found: Value
        do { found = try await perform(call, on: store) } catch is RuleRefusal {
            return documents.map { _ in .none }
        }
        let seen = Set((found.arrayValue ?? []).compactMap { $0["_id"]?.idText }.map { ExactText($0) })
        var reaches: [Reach] = []
        for document in documents {
            guard let id = document["_id"]?.idText, seen.contains(ExactText(id)) else {
                reaches.append(.none)
                continue
            }
            reaches.append(try await mayWrite(document, in: namespace, service: service) ? .write : .read)
        }
        return reaches
    }

    private func mayWrite(
        _ document: Document, in namespace: ChangeEvent.Namespace, service: String
    ) async throws -> Bool {
        guard let rules = rules(of: namespace, service: service) else { return false }
        let answers = answers()
        let request = RuleRequest(context: context) { try await answers.askNow($0, $1) }
        if try await rules.refusal(before: document, after: nil, to: request) == nil { return true }
        for field in document.fields where field.key != "_id" {
            var after = document
            after[field.key] = nil
            if try await rules.refusal(before: document, after: after, to: request) == nil { return true }
        }
        return false
    }
}
