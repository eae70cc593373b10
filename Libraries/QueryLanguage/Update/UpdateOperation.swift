import DocumentModel

/// One operator applied to one path.
public struct UpdateOperation: Sendable {
    /// The update operators.
    public enum Operator: String, Sendable, CaseIterable {
        case set = "$set"
        case unset = "$unset"
        case setOnInsert = "$setOnInsert"
        case increment = "$inc"
        case multiply = "$mul"
        case minimum = "$min"
        case maximum = "$max"
        case rename = "$rename"
        case currentDate = "$currentDate"
        case push = "$push"
        case pull = "$pull"
        case pullAll = "$pullAll"
        case addToSet = "$addToSet"
        case pop = "$pop"
        case bit = "$bit"
    }

    /// The operator.
    public let `operator`: Operator
    /// The path that it applies to.
    public let path: UpdatePath
    /// The operand as it was written.
    public let value: Value
    let action: UpdateAction

    /// Whether its path alone determines what it changes: it has neither a placeholder nor a second path.
    var isPlain: Bool {
        self.operator != .rename && path.steps.allSatisfy { if case .name = $0 { true } else { false } }
    }

    init(_ operator: Operator, _ path: UpdatePath, _ value: Value) throws(QueryError) {
        self.operator = `operator`
        self.path = path
        self.value = value
        // Whether the resulting document is too deep is checked later.
        guard ValueBounds(maximumDepth: max(1, Document.maximumDepth - path.steps.count)).excess(of: value) == nil
        else {
            throw QueryError(
                code: 15, message: "The value at '\(path)' is nested too deeply or too large for a document")
        }
        action = try UpdateAction(`operator`, path, value)
    }
}
