public import DocumentModel

extension DocumentRules {
    /// What a request may see of a document; `nil` where it may not see it at all.
    ///
    /// - Parameters:
    ///   - paths: what the query that found the document names. A document in which the request may not read one of these fields isn't
    ///     seen: that the query found it would tell what is in the field.
    ///   - isSearch: it was found by `$search`.
    /// - Throws: what calling a function throws.
    public func visible(
        _ document: Document, to request: RuleRequest, naming paths: NamedPaths = .none, isSearch: Bool = false
    ) async throws -> Document? {
        let context = request.context(root: document, previous: document)
        return try await role(for: context, asking: request)?.visible(document, naming: paths, isSearch: isSearch)
    }

    /// Whether a request may read all that there is at a path of a document, or could be.
    public func mayRead(_ path: [String], of document: Document, as request: RuleRequest) async throws -> Bool {
        let context = request.context(root: document, previous: document)
        return try await role(for: context, asking: request)?.mayRead(path, of: document) ?? false
    }

    /// Whether a request may read all of a document, whatever is in it.
    public func mayReadAll(of document: Document, as request: RuleRequest) async throws -> Bool {
        let context = request.context(root: document, previous: document)
        return try await role(for: context, asking: request)?.mayReadAll ?? false
    }
}
