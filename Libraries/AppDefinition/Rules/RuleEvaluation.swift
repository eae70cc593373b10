public import DocumentModel

/// The result of a rule function.
public struct RuleFunctionResult: Sendable {
    public var value: Value
    /// Whether the function accessed `context.user`; `true` when that isn't known.
    public var referencedUser: Bool

    public init(_ value: Value, referencedUser: Bool = true) {
        self.value = value
        self.referencedUser = referencedUser
    }
}

/// The result of a rule, with what it depended on.
public struct RuleOutcome: Sendable {
    public var holds: Bool
    /// Whether the evaluation used the user; if not, the result is the same for every user.
    public var referencedUser: Bool
    /// The functions that were called, in order.
    public var calledFunctions: [String]
}

extension RuleExpression {
    /// Calls one of the app's functions with these arguments.
    public typealias FunctionCall = @Sendable (_ name: String, _ arguments: [Value]) async throws -> RuleFunctionResult

    /// Evaluates the expression, and records what the result depended on.
    ///
    /// Fields and branches are evaluated in order, and no further than needed.
    ///
    /// - Throws: the errors of `callFunction`. The caller must then deny access.
    public func outcome(in context: RuleContext, callFunction: FunctionCall) async throws -> RuleOutcome {
        var evaluation = RuleEvaluation(context: context)
        let holds = try await evaluation.holds(node, callFunction)
        return RuleOutcome(
            holds: holds, referencedUser: evaluation.referencedUser, calledFunctions: evaluation.calledFunctions)
    }

    /// Evaluates the expression.
    ///
    /// - Throws: the errors of `callFunction`. The caller must then deny access.
    public func evaluate(_ context: RuleContext, callFunction: FunctionCall) async throws -> Bool {
        try await outcome(in: context, callFunction: callFunction).holds
    }
}

extension RuleOperand {
    /// Its value for a request; `nil` when it is missing.
    func value(in request: RuleRequest) async throws -> Value? {
        var evaluation = RuleEvaluation(context: request.context)
        return try await evaluation.value(of: self, request.callFunction)
    }
}

/// One evaluation. A missing value equals only a `null` that is written in the rule: two missing values must never grant access.
private struct RuleEvaluation {
    let context: RuleContext
    var referencedUser = false
    var calledFunctions: [String] = []

    init(context: RuleContext) { self.context = context }

    mutating func holds(_ node: RuleNode, _ call: RuleExpression.FunctionCall) async throws -> Bool {
        switch node {
        case .constant(let value): return value
        case .all(let nodes):
            for node in nodes where try await !holds(node, call) { return false }
            return true
        case .any(let nodes):
            for node in nodes where try await holds(node, call) { return true }
            return false
        case .not(let node): return try await !holds(node, call)
        case .embedded(let expected, let node): return try await holds(node, call) == expected
        case .test(let subject, let test):
            return try await passes(test, value(of: subject, call), call)
        }
    }

    private mutating func passes(
        _ test: RuleTest, _ subject: Value?, _ call: RuleExpression.FunctionCall
    ) async throws -> Bool {
        switch test {
        case .equals(let operand): return try await equals(subject, operand, call)
        case .differs(let operand): return try await !equals(subject, operand, call)
        case .ordered(let order, let operand):
            guard let subject, let other = try await value(of: operand, call),
                let comparison = RuleComparison.order(subject, other)
            else { return false }
            return switch order {
            case .less: comparison < 0
            case .lessOrEqual: comparison <= 0
            case .greater: comparison > 0
            case .greaterOrEqual: comparison >= 0
            }
        case .contained(let operand): return try await contains(operand, subject, call) ?? false
        case .notContained(let operand): return try await !(contains(operand, subject, call) ?? true)
        case .exists(let operand):
            guard case .bool(let wanted)? = try await value(of: operand, call) else { return false }
            return (subject != nil) == wanted
        case .all(let tests):
            for test in tests where try await !passes(test, subject, call) { return false }
            return true
        case .any(let tests):
            for test in tests where try await passes(test, subject, call) { return true }
            return false
        case .not(let test): return try await !passes(test, subject, call)
        }
    }

    private mutating func equals(
        _ subject: Value?, _ operand: RuleOperand, _ call: RuleExpression.FunctionCall
    ) async throws -> Bool {
        guard let subject else {
            if case .literal(.null) = operand { return true }
            return false
        }
        guard let other = try await value(of: operand, call) else { return false }
        if subject == other { return true }
        // A list equals what it contains: a field with the ids of users, or the teams in a user's custom data. A list that is written in the
        // rule is only compared as a whole; for one of several values there is `$in`.
        if case .array(let items) = subject { return other.isKnown && items.contains { $0 == other } }
        if case .array(let items) = other, case .expansion = operand {
            return subject.isKnown && items.contains { $0 == subject }
        }
        return false
    }

    /// Whether the operand's list contains the subject or, if that is a list, an element of it; `nil` when the operand isn't a list.
    private mutating func contains(
        _ operand: RuleOperand, _ subject: Value?, _ call: RuleExpression.FunctionCall
    ) async throws -> Bool? {
        guard case .array(let items)? = try await value(of: operand, call) else { return nil }
        guard let subject else { return operand.namesNull }
        if subject != .undefined, items.contains(where: { $0 == subject }) { return true }
        guard case .array(let elements) = subject else { return false }
        return elements.contains { element in element.isKnown && items.contains { $0 == element } }
    }

    mutating func value(
        of operand: RuleOperand, _ call: RuleExpression.FunctionCall
    ) async throws -> Value? {
        switch operand {
        case .literal(let value): return value
        case .expansion(let expansion):
            if expansion.root == .user { referencedUser = true }
            return context.value(of: expansion)
        case .array(let items):
            var values: [Value] = []
            // What is missing isn't the null that a document may have.
            for item in items { values.append(try await value(of: item, call) ?? .undefined) }
            return .array(values)
        case .document(let fields):
            var document = Document()
            for field in fields {
                guard let value = try await value(of: field.value, call) else { continue }
                document.fields.append(Document.Field(field.key, value))
            }
            return .document(document)
        case .function(let name, let arguments):
            var values: [Value] = []
            for argument in arguments { values.append(try await value(of: argument, call) ?? .undefined) }
            calledFunctions.append(name)
            let result = try await call(name, values)
            if result.referencedUser { referencedUser = true }
            return result.value
        case .convert(let conversion, let inner):
            return try await value(of: inner, call).flatMap(conversion.apply)
        }
    }
}

extension Value {
    /// Whether it is more than nothing: what two lists both lack must never grant access.
    fileprivate var isKnown: Bool { self != .null && self != .undefined }
}

extension RuleOperand {
    /// Whether it is a list in which `null` is written, which a missing value equals.
    fileprivate var namesNull: Bool {
        switch self {
        case .literal(.array(let items)): items.contains(.null)
        case .array(let items):
            items.contains { if case .literal(.null) = $0 { true } else { false } }
        default: false
        }
    }
}

extension RuleConversion {
    /// The converted value; `nil`, that is missing, when it can't be converted.
    func apply(_ value: Value) -> Value? {
        switch (self, value) {
        case (.stringToOid, .string(let text)): ObjectId(hexString: text).map(Value.objectId)
        case (.oidToString, .objectId(let id)): .string(id.hexString)
        case (.stringToUuid, .string(let text)): Binary(uuidString: text).map(Value.binary)
        case (.uuidToString, .binary(let binary)) where binary.subtype == 4 && binary.bytes.count == 16:
            .string(binary.uuidString)
        default: nil
        }
    }
}
