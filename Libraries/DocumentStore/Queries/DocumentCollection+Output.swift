import DocumentModel
import Foundation
import QueryLanguage

/// `$out` and `$merge`: writing the results of a pipeline to a collection.
extension DocumentCollection {
    /// The name of the stage with which a pipeline writes its results to a collection; `nil` for one that only reads.
    public static func outputStage(of stages: [Document]) -> String? {
        stages.last?.keys.first.flatMap { ["$out", "$merge"].containsExactly($0) ? $0 : nil }
    }

    func write(_ results: [Document], by stage: String, to target: Value) async throws {
        if stage == "$out" {
            let (database, name) = try Self.collection(target, collectionKey: "coll")
            return try await sibling(name, database: database).replaceContents(with: results)
        }
        let (database, name) = try Self.collection(target["into"] ?? target, collectionKey: "coll")
        let merge = try MergeSpecification(target)
        let other = sibling(name, database: database)
        for document in results { try await other.merge(document, merge) }
    }

    private static func collection(_ value: Value, collectionKey: String) throws -> (database: String?, name: String) {
        if case .string(let name) = value { return (nil, name) }
        guard case .string(let name)? = value[collectionKey] else {
            throw DocumentStoreError(.badFilter, "the output collection has no name", mongoCode: 51178)
        }
        return (value["db"]?.stringValue, name)
    }

    /// Deletes the existing documents and inserts the new ones in one transaction: readers see either the old or the new contents.
    private func replaceContents(with documents: [Document]) async throws {
        if session != nil {
            try await deleteMany([:])
            try await insertMany(documents)
            return
        }
        _ = try await ensuredTable()
        try await store.withTransaction(app: app) { session in
            let collection = DocumentCollection(store: store, app: app, namespace: namespace, session: session)
            try await collection.deleteMany([:])
            try await collection.insertMany(documents)
        }
    }

    private func merge(_ document: Document, _ merge: MergeSpecification) async throws {
        var document = document
        if document.id == nil { document.fields.insert(.init("_id", RepeatableCall.newID()), at: 0) }
        let filter = try merge.filter(for: document)
        // Somebody else may insert the match between the search and the insertion. In a transaction that ends it.
        var races = session == nil ? 2 : 0
        while try await !mergeIntoMatch(of: filter, document, merge) {
            switch merge.whenNotMatched {
            case .insert:
                do {
                    try await insertOne(document)
                    return
                } catch let error as DocumentStoreError where error.code == .duplicateKey && races > 0 {
                    races -= 1
                }
            case .discard: return
            case .fail:
                throw DocumentStoreError(
                    .badUpdate, "$merge could not find a matching document in the target collection", mongoCode: 13113)
            }
        }
    }

    /// Writes a result of the pipeline over the document that it matches.
    ///
    /// - Returns: whether there is one.
    private func mergeIntoMatch(
        of filter: Document, _ document: Document, _ merge: MergeSpecification
    ) async throws -> Bool {
        switch merge.whenMatched {
        case .keepExisting: return try await findOne(filter) != nil
        case .fail:
            guard try await findOne(filter) != nil else { return false }
            throw DocumentStoreError(
                .duplicateKey, "$merge with whenMatched: fail found an existing document", mongoCode: 11000)
        case .replace:
            var replacement = document
            if !merge.on.contains("_id") { replacement["_id"] = nil }
            return try await replaceOne(filter, replacement).matchedCount > 0
        case .merge:
            var fields = document
            if !merge.on.contains("_id") { fields["_id"] = nil }
            return try await update(filter, [["$replaceWith": ["$mergeObjects": ["$$ROOT", "$$new"]]]], fields)
        case .pipeline(let stages, let variables):
            return try await update(filter, stages, document, variables)
        }
    }

    private func update(
        _ filter: Document, _ stages: [Document], _ new: Document, _ definitions: Document = [:]
    ) async throws -> Bool {
        do {
            var variables: [ExactText: Value] = ["new": .document(new)]
            let context = EvaluationContext(root: new, now: store.clock.now())
            for field in definitions.fields { variables[field.key] = try Expression(field.value).evaluate(context) }
            let update = try Update(pipeline: stages, variables: variables)
            return try await updateFirst(
                filter, update, options: UpdateOptions(), operation: .update, beforeCommit: nil
            ).matchedCount > 0
        } catch let error as QueryError {
            throw DocumentStoreError(query: error, .badUpdate)
        }
    }
}

/// The options of `$merge`.
private struct MergeSpecification {
    enum Matched { case replace, keepExisting, merge, fail, pipeline([Document], Document) }
    enum NotMatched: String { case insert, discard, fail }

    /// The fields that identify a document.
    let on: [String]
    let whenMatched: Matched
    let whenNotMatched: NotMatched

    init(_ value: Value) throws {
        switch value["on"] {
        case .string(let name)?: on = [name]
        case .array(let names)?: on = names.compactMap(\.stringValue)
        default: on = ["_id"]
        }
        whenNotMatched = value["whenNotMatched"]?.stringValue.flatMap(NotMatched.init) ?? .insert
        switch value["whenMatched"] {
        case "replace"?: whenMatched = .replace
        case "keepExisting"?: whenMatched = .keepExisting
        case "fail"?: whenMatched = .fail
        case .array(let stages)?:
            // An element that isn't a document becomes an empty stage, which the pipeline refuses.
            whenMatched = .pipeline(stages.map { $0.documentValue ?? [:] }, value["let"]?.documentValue ?? [:])
        default: whenMatched = .merge
        }
    }

    func filter(for document: Document) throws -> Document {
        var filter = Document()
        for name in on {
            guard let value = document.value(at: Path(name)), !value.isNull else {
                throw DocumentStoreError(
                    .badUpdate, "$merge write error: 'on' field '\(name)' cannot be missing, null or undefined",
                    mongoCode: 51132)
            }
            if case .array = value {
                throw DocumentStoreError(
                    .badUpdate, "$merge write error: 'on' field '\(name)' cannot be an array", mongoCode: 51185)
            }
            filter[name] = ["$eq": value]
        }
        return filter
    }
}
