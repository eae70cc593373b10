public import DocumentModel

/// What a command's `let` defines for its expressions, `{name: expression}`: constants, since no document is there yet.
public struct CommandVariables: Sendable {
    /// The values by the names, without `$$`.
    public let values: [ExactText: Value]

    /// Evaluates the definitions.
    ///
    /// - Parameter now: the moment of `$$NOW`, in milliseconds since 1970.
    /// - Throws: 9 for a name that no variable of a user may have, 4890500 for an expression that asks for a document's fields.
    public init(_ definitions: Document, now: Int64 = 0) throws(QueryError) {
        var values: [ExactText: Value] = [:]
        for field in definitions.fields {
            try ExpressionParser.check(variable: field.key)
            let expression = try Expression(field.value)
            guard !Self.readsDocument(field.value) else {
                throw QueryError(
                    code: 4_890_500,
                    message:
                        "Command let Expression tried to access a field, but this is not allowed because command let expressions run before the query examines any documents."
                )
            }
            // What is missing is a variable without a value.
            values[field.key] = try expression.evaluate(EvaluationContext(root: Document(), now: now)) ?? .undefined
        }
        self.values = values
    }

    private static func readsDocument(_ value: Value) -> Bool {
        switch value {
        case .string(let text):
            text.hasPrefix("$")
                && (!text.hasPrefix("$$") || text.hasPrefix("$$ROOT") || text.hasPrefix("$$CURRENT"))
        case .array(let elements): elements.contains { readsDocument($0) }
        case .document(let document):
            document.fields.contains { $0.key != "$literal" && readsDocument($0.value) }
        default: false
        }
    }
}
