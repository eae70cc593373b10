import DocumentModel

/// What is left of an update after its paths were decided.
struct UpdatePlan {
    struct Write {
        var path: String
        var spared: Set<ExactText> = []
    }

    /// The arguments of one operator in their order, with their places by path.
    private struct Arguments {
        let name: String
        var fields: [Document.Field] = []
        var places: [ExactText: Int] = [:]

        mutating func set(_ field: Document.Field) {
            let path = ExactText(field.key)
            if let place = places[path] {
                fields[place].value = field.value
            } else {
                places[path] = fields.count
                fields.append(field)
            }
        }
    }

    private var kept: [Arguments] = []
    /// The paths whose clocks the kept operators raise.
    var writes: [Write] = []
    /// The paths that lost.
    var lost: [String] = []

    var isEmpty: Bool { kept.isEmpty }

    /// The operators to apply.
    var operators: Document {
        Document(fields: kept.map { .init($0.name, .document(Document(fields: $0.fields))) })
    }

    private func place(of name: String) -> Int? { kept.firstIndex { $0.name.hasSameBytes(as: name) } }

    mutating func keep(_ name: String, _ argument: Document.Field, writing path: String, sparing: [String] = []) {
        if place(of: name) == nil { kept.append(Arguments(name: name)) }
        if let place = place(of: name) { kept[place].set(argument) }
        writes.append(Write(path: path, spared: Set(texts: sparing)))
    }

    /// The document that an operator is about to write to a path.
    func planned(_ name: String, _ path: String) -> Document? {
        guard let arguments = place(of: name).map({ kept[$0] }), let place = arguments.places[ExactText(path)],
            case .document(let value) = arguments.fields[place].value
        else { return nil }
        return value
    }

    /// Whether a remaining path uses this array filter; the update operators reject a filter that no path uses.
    func uses(_ arrayFilter: Document) -> Bool {
        guard let name = Self.identifier(of: arrayFilter) else { return true }
        return kept.contains { arguments in
            arguments.fields.contains { $0.key.splitAtBytes(".").containsExactly("$[\(name)]") }
        }
    }

    private static func identifier(of filter: Document) -> String? {
        guard let field = filter.fields.first else { return nil }
        if !field.key.startsWithBytes(of: "$") { return field.key.splitAtBytes(".", maxSplits: 1).first }
        guard case .array(let clauses) = field.value, case .document(let clause)? = clauses.first else { return nil }
        return identifier(of: clause)
    }
}
