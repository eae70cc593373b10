import AppDefinition
import DocumentModel
import DocumentStore
import QueryLanguage

/// A query under data rules. It finds what the user would find in the documents as the user sees them. Hidden fields affect nothing
/// that the user can observe, whether the query reads or writes.
///
/// The store evaluates the conditions that depend on named fields only; a document in which the user may not read one of these
/// fields isn't found. Conditions that may depend on any field (`$expr`), or may fail depending on a value, are evaluated here, on
/// what the user sees.
struct RuledQuery: ReviewedQuery {
    let stored: Document
    let inserted: Document
    /// The conditions that are evaluated here.
    private let rest: Filter?
    private let paths: NamedPaths
    private let cut: ProjectionChain
    private let rules: DocumentRules
    private let request: RuleRequest
    private let now: Int64

    /// - Throws: `QueryError`.
    init(
        _ filter: Document, sort: Document? = nil, collation: Document?, rules: DocumentRules,
        restriction: DocumentRules.Restriction, request: RuleRequest, now: Int64
    ) throws {
        self.now = now
        let parts = FilterParts(filter)
        let collation = try collation.flatMap { try Collation($0) }
        rest = parts.rest.isEmpty ? nil : try Filter(parts.rest, collation: collation)
        paths = parts.paths.adding(sort?.fields.map(\.key) ?? [])
        cut = try ProjectionChain(restriction.projections, positionedBy: nil, now: now)
        if cut.keeps(paths) {
            // With a collation, a range isn't that of the rules, which compare bytes.
            stored = collation == nil ? restriction.reaching(parts.stored) : restriction.restricting(parts.stored)
        } else {
            stored = DocumentRules.Restriction.nothing
        }
        inserted = restriction.upserting(filter)
        self.rules = rules
        self.request = request
    }

    /// What the user sees of a document; `nil` when the query doesn't find it.
    func view(of document: Document) async throws -> Document? {
        guard let visible = try await rules.visible(document, to: request, naming: paths) else { return nil }
        let view = try Self.shown(visible, through: cut)
        if let rest, try !rest.evaluate(view, now: now) { return nil }
        return view
    }

    /// What the user sees of a document that didn't come from the store; `nil` when the query doesn't find it.
    /// - Throws: `QueryError`; the errors of calling a function.
    func found(_ document: Document) async throws -> Document? {
        guard try Filter(stored).matches(document, now: now) else { return nil }
        return try await view(of: document)
    }

    /// The readable part of a document after the projections of the app's filters; the `_id` stays.
    static func shown(_ visible: Document, through cut: ProjectionChain) throws -> Document {
        if cut.isEmpty { return visible }
        var shown = try cut.apply(to: visible)
        if shown["_id"] == nil, let id = visible["_id"] { shown.fields.insert(.init("_id", id), at: 0) }
        return shown
    }

    // MARK: Writing

    func merging(_ changed: Document, madeOf view: Document, into document: Document) async throws -> Document {
        if cut.isEmpty, try await rules.mayReadAll(of: document, as: request) { return changed }
        return try await merging(changed, madeOf: view, into: document, at: [], of: document)
    }

    /// A value that isn't wholly readable can't be written as a whole, only field by field below it. The rules alone decide that,
    /// never the hidden values.
    private func merging(
        _ changed: Document, madeOf view: Document, into part: Document, at place: [String], of document: Document
    ) async throws -> Document {
        var result = part
        let removed = view.fields.map(\.key).filter { changed[$0] == nil }
        let written = changed.fields.filter { field in
            view[field.key].map { !$0.isIdentical(to: field.value) } ?? true
        }
        for key in removed + written.map(\.key) {
            let path = place + [key]
            if cut.keeps(path), try await rules.mayRead(path, of: document, as: request) {
                result[key] = changed[key]
                continue
            }
            guard let after = changed[key]?.documentValue,
                let before = (view[key] ?? .document([:])).documentValue
            else { throw RuleRefusal.hidden(path.joined(separator: ".")) }
            result[key] = .document(
                try await merging(
                    after, madeOf: before, into: part[key]?.documentValue ?? [:], at: path, of: document))
        }
        return result
    }

    /// The error that the user gets. A schema violation describes the value at a path, so it is passed on only if the user may read
    /// that path.
    func told(_ error: DocumentStoreError, about document: Document) async throws -> any Error {
        guard error.code == .schemaViolation else { return error }
        let path = (error.path ?? "").split(separator: ".").map(String.init)
        if !path.isEmpty, cut.keeps(path), try await rules.mayRead(path, of: document, as: request) { return error }
        if cut.isEmpty, try await rules.mayReadAll(of: document, as: request) { return error }
        return DocumentStoreError(
            .schemaViolation, "the document would not be what its collection's schema says", mongoCode: 121)
    }
}
