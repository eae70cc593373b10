import DocumentModel

/// A condition that every document meets for which a rule holds, so that a query needn't read the others.
///
/// What depends on the caller alone is computed; what depends on a document's own fields becomes a filter; the rest (functions, paths into
/// subdocuments, what was before a write) is taken to hold. Documents that meet the condition are still examined one by one.
enum RuleReach: Equatable {
    case always, never
    case filter(Document)

    /// The filter; `nil` where all documents have to be examined.
    var document: Document? {
        switch self {
        case .always: nil
        case .never: DocumentRules.Restriction.nothing
        case .filter(let filter): filter
        }
    }

    static func all(_ parts: [RuleReach]) -> RuleReach {
        if parts.contains(.never) { return .never }
        let filters = parts.compactMap(\.document)
        return filters.count < 2 ? filters.first.map(RuleReach.filter) ?? .always : .filter(["$and": list(filters)])
    }

    static func any(_ parts: [RuleReach]) -> RuleReach {
        if parts.contains(.always) { return .always }
        let filters = parts.filter { $0 != .never }.compactMap(\.document)
        return filters.count < 2 ? filters.first.map(RuleReach.filter) ?? .never : .filter(["$or": list(filters)])
    }

    private static func list(_ filters: [Document]) -> Value { .array(filters.map { .document($0) }) }
}

extension DocumentRules {
    /// A filter that every document meets of which a request may see anything; `nil` if all documents have to be examined.
    /// - Throws: the errors of evaluating a rule.
    func reach(of request: RuleRequest) async throws -> Document? {
        var roles: [RuleReach] = []
        for role in self.roles { roles.append(try await role.reach(of: request)) }
        return RuleReach.any(roles).document
    }
}

extension DocumentRole {
    /// The documents to which it applies and of which it shows something, as `AppliedRole.visible` decides.
    fileprivate func reach(of request: RuleRequest) async throws -> RuleReach {
        func reach(_ expression: RuleExpression?) async throws -> RuleReach? {
            guard let expression else { return nil }
            return try await expression.node.reach(of: request)
        }
        var parts = [try await applyWhen.node.reach(of: request)]
        let filters = [try await reach(readFilter), try await reach(writeFilter)].compactMap(\.self)
        if !filters.isEmpty { parts.append(.any(filters)) }
        // Where a level is absent, the fields' permissions decide.
        let hasFields = !fields.isEmpty || additionalFields != nil
        if !hasFields || read != nil && write != nil {
            parts.append(.any([try await reach(read), try await reach(write)].compactMap(\.self)))
        }
        return .all(parts)
    }
}

extension RuleNode {
    /// Whether its result is the same for all documents, and known without a function.
    private var isOfCaller: Bool {
        functionNames.isEmpty && expansionRoots.isDisjoint(with: RuleExpansion.Root.ofDocuments)
    }

    fileprivate func reach(of request: RuleRequest) async throws -> RuleReach {
        if isOfCaller {
            let holds = try await request.holds(RuleExpression(source: .null, node: self), in: request.context)
            return holds ? .always : .never
        }
        var parts: [RuleReach] = []
        switch self {
        case .all(let nodes):
            for node in nodes { parts.append(try await node.reach(of: request)) }
            return .all(parts)
        case .any(let nodes):
            for node in nodes { parts.append(try await node.reach(of: request)) }
            return .any(parts)
        case .embedded(expected: true, let node): return try await node.reach(of: request)
        case .test(let subject, let test): return try await test.reach(of: subject, request)
        case .constant, .not, .embedded: return .always
        }
    }
}

extension RuleOperand {
    /// The field of the document that it is. A path into it may lead through lists in more ways than a filter's.
    fileprivate var field: String? {
        guard case .expansion(let expansion) = self, expansion.root == .root, expansion.path.count == 1,
            let name = expansion.path.first, !name.isEmpty,
            !name.utf8.contains(where: { [0, UInt8(ascii: "."), UInt8(ascii: "$")].contains($0) })
        else { return nil }
        return name
    }

    /// Its value for all documents, `.some(nil)` if it is missing; `nil` if it depends on the document or on a function.
    fileprivate func constant(of request: RuleRequest) async throws -> Value?? {
        let node = RuleNode.test(self, .exists(.literal(true)))
        guard node.functionNames.isEmpty, node.expansionRoots.isDisjoint(with: RuleExpansion.Root.ofDocuments) else {
            return nil
        }
        return .some(try await value(in: request))
    }
}

extension RuleTest {
    fileprivate func reach(of subject: RuleOperand, _ request: RuleRequest) async throws -> RuleReach {
        var parts: [RuleReach] = []
        switch self {
        case .all(let tests):
            for test in tests { parts.append(try await test.reach(of: subject, request)) }
            return .all(parts)
        case .any(let tests):
            for test in tests { parts.append(try await test.reach(of: subject, request)) }
            return .any(parts)
        case .equals(let operand):
            if let field = subject.field, let value = try await operand.constant(of: request) {
                return Self.reach(field, value.map(Self.withElements))
            }
            if let field = operand.field, let value = try await subject.constant(of: request) {
                return Self.reach(field, value.map(Self.withElements))
            }
            return .always
        case .contained(let operand):
            if let field = subject.field, let list = try await operand.constant(of: request) {
                return Self.reach(field, list?.arrayValue?.filter { $0 != .undefined })
            }
            // A list of the document, with the caller's value in it, or an element of that.
            if let field = operand.field, let value = try await subject.constant(of: request) {
                return Self.reach(field, value.map(Self.withElements))
            }
            return .always
        case .ordered(let order, let operand):
            guard let field = subject.field, let value = try await operand.constant(of: request) else { return .always }
            switch value {
            case nil: return .never
            case .int32, .int64, .double, .string, .date, .objectId:
                let name =
                    switch order {
                    case .less: "$lt"
                    case .lessOrEqual: "$lte"
                    case .greater: "$gt"
                    case .greaterOrEqual: "$gte"
                    }
                return .filter([field: [name: value ?? .null]])
            default: return .always
            }
        case .differs, .notContained, .exists, .not: return .always
        }
    }

    /// A value, and if it is a list also what it contains.
    private static func withElements(_ value: Value) -> [Value] { [value] + (value.arrayValue ?? []) }

    /// The most values of a caller's list that become a part of a filter.
    private static let mostValues = 200

    /// The documents whose field has one of the values, or a list with one; `nil` where no document can.
    private static func reach(_ field: String, _ values: [Value]?) -> RuleReach {
        guard let values else { return .never }
        // A filter has limits of its own, and a long list isn't compared faster in Postgres.
        if values.count > Self.mostValues { return .always }
        // In a filter these mean something else than themselves.
        let isPlain = values.allSatisfy { value in
            switch value {
            case .regex, .undefined, .minKey, .maxKey: false
            case .document(let document): document.keys.first?.utf8.first != UInt8(ascii: "$")
            default: true
            }
        }
        if !isPlain { return .always }
        return .filter([field: values.count == 1 ? values[0] : ["$in": .array(values)]])
    }
}
