public import DocumentModel

extension DocumentRules {
    /// The part of a document that a request may see; `nil` if it may not see the document at all.
    ///
    /// - Parameters:
    ///   - paths: the fields that the query names which found the document. A document in which the request may not read one of
    ///     these fields isn't visible, because the query's match would reveal the field's value.
    ///   - isSearch: whether it was found by `$search`.
    /// - Throws: the errors of calling a function.
    public func visible(
        _ document: Document, to request: RuleRequest, naming paths: NamedPaths = .none, isSearch: Bool = false
    ) async throws -> Document? {
        let context = request.context(root: document, previous: document)
        return try await role(for: context, asking: request)?.visible(document, naming: paths, isSearch: isSearch)
    }

    /// Whether a request may read every value that a document has or could have at a path.
    public func mayRead(_ path: [String], of document: Document, as request: RuleRequest) async throws -> Bool {
        let context = request.context(root: document, previous: document)
        return try await role(for: context, asking: request)?.mayRead(path, of: document) ?? false
    }

    /// Whether a request may read all of a document, whatever its content.
    public func mayReadAll(of document: Document, as request: RuleRequest) async throws -> Bool {
        let context = request.context(root: document, previous: document)
        return try await role(for: context, asking: request)?.mayReadAll ?? false
    }
}
