import DocumentModel

/// What is left of an update after its paths were decided.
struct UpdatePlan {
    struct Write {
        var path: String
        var spared: Set<ExactText> = []
    }

    /// The operators to apply.
    private(set) var operators = Document()
    /// The paths whose clocks they raise.
    var writes: [Write] = []
    /// The paths that lost.
    var lost: [String] = []

    var isEmpty: Bool { operators.fields.isEmpty }

    mutating func keep(_ name: String, _ argument: Document.Field, writing path: String, sparing: [String] = []) {
        var arguments = Document()
        if case .document(let present) = operators[name] { arguments = present }
        arguments[argument.key] = argument.value
        operators[name] = .document(arguments)
        writes.append(Write(path: path, spared: Set(texts: sparing)))
    }

    /// The document that an operator is about to write to a path.
    func planned(_ name: String, _ path: String) -> Document? {
        guard case .document(let arguments) = operators[name], case .document(let value) = arguments[path] else {
            return nil
        }
        return value
    }

    /// Whether a path that is left names this array filter; operators refuse a filter that nothing uses.
    func uses(_ arrayFilter: Document) -> Bool {
        guard let name = Self.identifier(of: arrayFilter) else { return true }
        return operators.fields.contains { field in
            guard case .document(let arguments) = field.value else { return false }
            return arguments.fields.contains { $0.key.splitAtBytes(".").containsExactly("$[\(name)]") }
        }
    }

    private static func identifier(of filter: Document) -> String? {
        guard let field = filter.fields.first else { return nil }
        if !field.key.startsWithBytes(of: "$") { return field.key.splitAtBytes(".", maxSplits: 1).first }
        guard case .array(let clauses) = field.value, case .document(let clause)? = clauses.first else { return nil }
        return identifier(of: clause)
    }
}
