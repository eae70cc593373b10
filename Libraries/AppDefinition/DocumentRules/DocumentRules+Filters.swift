public import DocumentModel

extension DocumentRules {
    /// The app's filters that are added to a query, and the projections that are applied to its results.
    public struct Restriction: Sendable {
        public var queries: [Document] = []
        public var projections: [Document] = []
        /// A filter that every document meets of which the request may see anything by the roles; `nil` if all documents have to be examined.
        public var reach: Document?

        /// A query that finds nothing.
        public static let nothing: Document = ["_id": ["$in": []]]

        /// The query combined with all filters.
        public func restricting(_ query: Document) -> Document { Self.all([query] + queries) }

        /// The query combined with all filters, and with what the roles reach.
        ///
        /// A query by `_id` is left as it is: it finds few documents, or a range in the order of `_id`, which the index of another field
        /// wouldn't keep.
        public func reaching(_ query: Document) -> Document {
            let clauses = Self.clauses(query)
            guard let reach, !clauses.contains(where: { $0["_id"] != nil }) else { return restricting(query) }
            return Self.all([query] + queries + [reach])
        }

        /// The query combined with what the filters demand beyond it.
        ///
        /// For an upsert, whose document gets the query's equalities: to it a path that is matched twice isn't clear, although both
        /// demand the same.
        public func upserting(_ query: Document) -> Document {
            var kept = Self.clauses(query)
            for clause in queries.flatMap(Self.clauses) {
                let fields = clause.fields.filter { field in
                    !kept.contains { $0[field.key].map(Self.demand) == Self.demand(field.value) }
                }
                if !fields.isEmpty { kept.append(Document(fields: fields)) }
            }
            return Self.all(kept)
        }

        /// The value that a condition on a field compares with, if that is all it does, otherwise the condition.
        private static func demand(_ condition: Value) -> Value {
            guard case .document(let operators) = condition, operators.count == 1 else { return condition }
            return operators["$eq"] ?? condition
        }

        /// All of the queries, one beside the other: what is below another `$and` isn't found as a text to search for, or as a range of an
        /// index.
        private static func all(_ queries: [Document]) -> Document {
            let all = queries.flatMap(clauses)
            return all.count < 2 ? all.first ?? [:] : ["$and": .array(all.map { .document($0) })]
        }

        private static func clauses(_ query: Document) -> [Document] {
            guard query.count == 1, let clauses = query["$and"]?.arrayValue, !clauses.isEmpty else {
                return query.isEmpty ? [] : [query]
            }
            let documents = clauses.compactMap(\.documentValue)
            return documents.count == clauses.count ? documents.flatMap(Self.clauses) : [query]
        }
    }

    /// What restricts a request's queries: the filters that apply to it, with their expansions resolved, and what its roles reach.
    ///
    /// A filter that needs a value which the request doesn't have matches no document.
    /// - Throws: the errors of calling a function.
    public func restriction(of request: RuleRequest) async throws -> Restriction {
        var restriction = Restriction(reach: try await reach(of: request))
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
