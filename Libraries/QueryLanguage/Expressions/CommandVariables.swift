public import DocumentModel

/// The variables that a command's `let` defines for its expressions, `{name: expression}`: constants, since they can't refer to a
/// document.
public struct CommandVariables: Sendable {
    /// The values by name, without `$$`.
    public let values: [ExactText: Value]

    /// Evaluates the definitions.
    ///
    /// - Parameter now: the time of `$$NOW`, in milliseconds since 1970.
    /// - Throws: 9 for a name that isn't allowed for a user's variable, 4890500 for an expression that uses a document's fields.
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
            // A missing value defines a variable that is undefined.
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
