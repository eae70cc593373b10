import DocumentModel

/// A condition for the documents of another collection that a pipeline that begins with `$match` needs: it may select more
/// documents than the `$match`, but never fewer.
struct ForeignFilter {
    /// A field of the other documents that has to equal one of the values of an expression that uses no fields.
    struct Join {
        let path: Path
        let operand: Expression
        /// Whether the operand is an array of values (`$in`), not one value (`$eq`).
        let isList: Bool

        /// The values that the field may have; `nil` if a filter can't express them.
        func values(_ variables: [ExactText: Value], _ context: PipelineContext) throws(QueryError) -> [Value]? {
            let evaluation = EvaluationContext(
                root: Document(), variables: variables, now: context.now, collation: context.collation)
            let operand = try operand.evaluate(evaluation)
            var values = [operand ?? .null]
            if isList {
                guard case .array(let elements)? = operand else { return nil }
                values = elements
            }
            return values.allSatisfy(\.isFoundByEquality) ? values : nil
        }
    }

    /// The conditions that use no variables.
    private(set) var constants: [Document] = []
    private(set) var joins: [Join] = []

    /// If the pipeline begins with another stage, the condition selects everything.
    /// - Parameter variables: The names that the pipeline may use.
    init(_ pipeline: Pipeline?, variables: Set<ExactText>) {
        guard case .match(let filter)? = pipeline?.stages.first else { return }
        add(filter.document, variables)
    }

    /// The filter for the other collection, combined with further conditions.
    func filter(_ others: [Document] = [], collation: Collation?) throws(QueryError) -> Filter {
        let all = constants + others
        if all.isEmpty { return .all }
        return try Filter(all.count == 1 ? all[0] : ["$and": .array(all.map { .document($0) })], collation: collation)
    }

    private mutating func add(_ document: Document, _ variables: Set<ExactText>) {
        for field in document.fields {
            switch (field.key, field.value) {
            case ("$and", .array(let parts)):
                for case .document(let part) in parts { add(part, variables) }
            case ("$expr", let expression): add(expression: expression, variables)
            default:
                let condition = Document(fields: [field])
                if !Value.document(condition).has(Self.unfit) { constants.append(condition) }
            }
        }
    }

    /// The operators that depend on variables, don't depend only on the document, or aren't just conditions.
    private static let unfit: Set<ExactText> = [
        "$expr", "$text", "$where", "$near", "$nearSphere", "$sampleRate", "$comment",
    ]

    private mutating func add(expression: Value, _ variables: Set<ExactText>) {
        guard case .document(let document) = expression, document.fields.count == 1, let field = document.fields.first,
            case .array(let operands) = field.value
        else { return }
        switch (field.key, operands.count) {
        case ("$and", _): for operand in operands { add(expression: operand, variables) }
        case ("$eq", 2):
            add(operands[0], operands[1], isList: false, variables)
            if operands[0].fieldPath == nil { add(operands[1], operands[0], isList: false, variables) }
        case ("$in", 2): add(operands[0], operands[1], isList: true, variables)
        default: break
        }
    }

    private mutating func add(_ field: Value, _ operand: Value, isList: Bool, _ variables: Set<ExactText>) {
        guard let path = field.fieldPath, case .string(let text) = operand, text.hasPrefix("$$"),
            let name = text.dropFirst(2).splitAtBytes(".").first, variables.contains(name),
            let operand = try? Expression(operand, variables: variables)
        else { return }
        joins.append(Join(path: path, operand: operand, isList: isList))
    }
}

extension Value {
    /// The path of an expression such as `"$a.b"`.
    fileprivate var fieldPath: Path? {
        guard case .string(let text) = self, text.hasPrefix("$"), !text.hasPrefix("$$"), text.utf8.count > 1 else {
            return nil
        }
        return Path(String(text.dropFirst()))
    }

    /// Whether a filter's equality with this value finds all documents that an expression's equality finds.
    fileprivate var isFoundByEquality: Bool {
        switch self {
        case .array, .regex, .undefined: false
        default: true
        }
    }

    fileprivate func has(_ names: Set<ExactText>) -> Bool {
        switch self {
        case .document(let document): document.fields.contains { names.contains($0.key) || $0.value.has(names) }
        case .array(let elements): elements.contains { $0.has(names) }
        default: false
        }
    }
}
