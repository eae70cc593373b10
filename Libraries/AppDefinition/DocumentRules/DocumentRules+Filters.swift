public import DocumentModel

extension DocumentRules {
    /// The app's filters that are added to a query, and the projections that are applied to its results.
    public struct Restriction: Sendable {
        public var queries: [Document] = []
        public var projections: [Document] = []

        /// A query that finds nothing.
        public static let nothing: Document = ["_id": ["$in": []]]

        /// The query combined with all filters.
        public func restricting(_ query: Document) -> Document {
            if queries.isEmpty { return query }
            let all = (query.fields.isEmpty ? [] : [query]) + queries
            return all.count == 1 ? all[0] : ["$and": .array(all.map { .document($0) })]
        }
    }

    /// The filters that apply to a request, with their expansions resolved.
    ///
    /// A filter that needs a value which the request doesn't have matches no document.
    /// - Throws: the errors of calling a function.
    public func restriction(of request: RuleRequest) async throws -> Restriction {
        var restriction = Restriction()
        for filter in filters where try await request.holds(filter.applyWhen, in: request.context) {
            if !filter.query.fields.isEmpty {
                let query = try await FilterExpansion(request: request).expand(filter.query)
                restriction.queries.append(query ?? Restriction.nothing)
            }
            if let projection = filter.projection, !projection.fields.isEmpty {
                restriction.projections.append(projection)
            }
        }
        return restriction
    }
}

/// Replaces a filter's expansions with their values.
private struct FilterExpansion {
    let request: RuleRequest

    /// `nil` when a value is missing.
    func expand(_ document: Document) async throws -> Document? {
        var expanded = Document()
        for field in document.fields {
            guard let value = try await expand(field.value) else { return nil }
            let isOperator = field.key.hasPrefix("%") && !field.key.hasPrefix("%%")
            expanded.fields.append(.init(isOperator ? "$" + field.key.dropFirst() : field.key, value))
        }
        return expanded
    }

    private func expand(_ value: Value) async throws -> Value? {
        switch value {
        case .string(let text) where text.hasPrefix("%%"):
            return RuleExpansion(text).flatMap { request.context.value(of: $0) }
        case .array(let elements):
            var expanded: [Value] = []
            for element in elements {
                guard let value = try await expand(element) else { return nil }
                expanded.append(value)
            }
            return .array(expanded)
        case .document(let document):
            guard let call = try RuleOperand(value: document) else {
                return try await expand(document).map { .document($0) }
            }
            return try await call.value(in: request)
        default: return value
        }
    }
}

extension RuleOperand {
    /// A conversion or a function call in place of a value; `nil` for any other document.
    fileprivate init?(value document: Document) throws(RuleSyntaxError) {
        guard document.fields.count == 1, let key = document.fields.first?.key,
            key.hasPrefix("%") || key.hasPrefix("$"),
            key.dropFirst() == "function" || RuleConversion(rawValue: String(key.dropFirst())) != nil
        else { return nil }
        var parser = RuleParser()
        self = parser.operand(.document(document), at: "")
        guard parser.issues.isEmpty else { throw RuleSyntaxError(issues: parser.issues) }
    }
}
