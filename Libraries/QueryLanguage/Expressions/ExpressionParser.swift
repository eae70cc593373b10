import DocumentModel

/// Parses an expression into its tree.
struct ExpressionParser {
    /// The variables that may be used at the current place.
    private var variables: Set<ExactText>
    private var depth = 0
    /// How many parts the expression has.
    private(set) var count = 0

    private static let system: Set<String> = ["ROOT", "CURRENT", "NOW", "REMOVE", "DESCEND", "PRUNE", "KEEP"]

    init(variables: Set<ExactText>) { self.variables = variables }

    mutating func parse(_ value: Value) throws(QueryError) -> ExpressionNode {
        depth += 1
        count += 1
        defer { depth -= 1 }
        guard depth <= 100 else { throw .badValue("the expression is nested too deeply") }
        switch value {
        case .string(let text): return try path(text)
        case .array(let elements): return .array(try list(elements))
        case .document(let document): return try parse(document)
        default: return .literal(value)
        }
    }

    private mutating func list(_ elements: [Value]) throws(QueryError) -> [ExpressionNode] {
        var nodes: [ExpressionNode] = []
        for element in elements { nodes.append(try parse(element)) }
        return nodes
    }

    private mutating func parse(_ document: Document) throws(QueryError) -> ExpressionNode {
        guard let first = document.fields.first else { return .literal(.document(document)) }
        if first.key.utf8.first == UInt8(ascii: "$") {
            guard document.count == 1 else {
                throw QueryError(
                    code: 15983,
                    message:
                        "an expression specification must contain exactly one field, the name of the expression. Found \(document.count) fields"
                )
            }
            return try operation(first.key, first.value)
        }
        var fields: [ExpressionNode.Field] = []
        for field in document.fields {
            guard field.key.utf8.first != UInt8(ascii: "$") else {
                throw QueryError(
                    code: 16410,
                    message: "FieldPath field names may not start with '$'. Consider using $getField or $setField.")
            }
            guard !field.key.utf8.contains(UInt8(ascii: ".")) else {
                throw QueryError(
                    code: 16412,
                    message: "FieldPath field names may not contain '.'. Consider using $getField or $setField.")
            }
            fields.append(ExpressionNode.Field(name: field.key, value: try parse(field.value)))
        }
        return .document(fields)
    }

    private func path(_ text: String) throws(QueryError) -> ExpressionNode {
        guard text.utf8.first == UInt8(ascii: "$") else { return .literal(.string(text)) }
        var rest = text.dropFirst()
        let isVariable = rest.utf8.first == UInt8(ascii: "$")
        if isVariable { rest = rest.dropFirst() }
        guard !rest.isEmpty else {
            throw QueryError(
                code: isVariable ? 9 : 16872,
                message: isVariable ? "empty variable names are not allowed" : "'$' by itself is not a valid FieldPath")
        }
        var components = try Path(field: rest).components
        guard isVariable else { return .path(variable: "CURRENT", path: components) }
        let name = components.removeFirst().name
        if !variables.contains(name), ["CLUSTER_TIME", "USER_ROLES", "SEARCH_META"].contains(name) {
            throw .notSupported("$$\(name)")
        }
        guard Self.system.contains(name) || variables.contains(name) else {
            throw QueryError(code: 17276, message: "Use of undefined variable: \(name)")
        }
        return .path(variable: name, path: components)
    }

    private mutating func operation(_ name: String, _ operand: Value) throws(QueryError) -> ExpressionNode {
        if let control = try control(name, operand) { return control }
        if let named = ExpressionOperators.named[name], case .document(let document) = operand,
            !FilterParser.isOperators(operand)
        {
            return .named(named, try arguments(of: named, document))
        }
        if let positional = ExpressionOperators.positional[name] {
            return .operation(positional, try arguments(of: positional, operand))
        }
        if let named = ExpressionOperators.named[name] {
            // Operators such as `$year` and `$getField` have a short form for their one argument: `$year: "$date"`.
            guard named.required.count == 1, name != "$zip" else {
                throw .failedToParse("\(name) requires an object as its argument")
            }
            if case .array(let elements) = operand, elements.count == 1 {
                return .named(named, [named.required[0]: try parse(elements[0])])
            }
            return .named(named, [named.required[0]: try parse(operand)])
        }
        if ExpressionOperators.unsupported.contains(name) { throw .notSupported(name) }
        throw QueryError(code: 168, message: "Unrecognized expression '\(name)'")
    }

    private mutating func arguments(of operator: ExpressionOperator, _ operand: Value) throws(QueryError)
        -> [ExpressionNode]
    {
        let nodes: [ExpressionNode]
        if case .array(let elements) = operand { nodes = try list(elements) } else { nodes = [try parse(operand)] }
        guard `operator`.arity.contains(nodes.count) else {
            let most = `operator`.arity.upperBound, least = `operator`.arity.lowerBound
            throw QueryError(
                code: least == most ? 16020 : 28667,
                message: least == most
                    ? "Expression \(`operator`.name) takes exactly \(least) arguments. \(nodes.count) were passed in."
                    : "Expression \(`operator`.name) takes at least \(least) arguments, and at most \(most), but \(nodes.count) were passed in."
            )
        }
        return nodes
    }

    private mutating func arguments(of operator: NamedOperator, _ document: Document) throws(QueryError) -> [String:
        ExpressionNode]
    {
        var arguments: [String: ExpressionNode] = [:]
        for field in document.fields {
            guard `operator`.required.contains(field.key) || `operator`.optional.contains(field.key) else {
                throw .failedToParse("Unrecognized argument to \(`operator`.name): \(field.key)")
            }
            arguments[field.key] = try parse(field.value)
        }
        for name in `operator`.required where arguments[name] == nil {
            throw .failedToParse("Missing '\(name)' parameter to \(`operator`.name)")
        }
        return arguments
    }

    // MARK: Operators that decide themselves what they evaluate

    private mutating func control(_ name: String, _ operand: Value) throws(QueryError) -> ExpressionNode? {
        switch name {
        case "$literal", "$const": return .literal(operand)
        case "$and": return .and(try operands(operand))
        case "$or": return .or(try operands(operand))
        case "$cond": return try condition(operand)
        case "$switch": return try choice(operand)
        case "$ifNull":
            let nodes = try operands(operand)
            guard nodes.count >= 2 else {
                throw QueryError(code: 1_257_300, message: "$ifNull needs at least two arguments, had: \(nodes.count)")
            }
            return .ifNull(nodes)
        case "$let": return try binding(operand)
        case "$map": return try map(operand)
        case "$filter": return try filter(operand)
        case "$reduce": return try reduce(operand)
        case "$sortArray": return try sortArray(operand)
        default: return nil
        }
    }

    private mutating func operands(_ operand: Value) throws(QueryError) -> [ExpressionNode] {
        if case .array(let elements) = operand { return try list(elements) }
        return [try parse(operand)]
    }

    private func fields(_ name: String, _ operand: Value, _ allowed: [String], required: [String]) throws(QueryError)
        -> Document
    {
        guard case .document(let document) = operand else {
            throw QueryError(code: Self.codes[name] ?? 9, message: "\(name) only supports an object as its argument")
        }
        for field in document.fields where !allowed.contains(field.key) {
            throw QueryError(
                code: name == "$cond" ? 17083 : Self.codes[name].map { $0 + 1 } ?? 9,
                message: "Unrecognized parameter to \(name): \(field.key)")
        }
        for (place, key) in required.enumerated() where document[key] == nil {
            // MongoDB's codes are consecutive, except for that of `as`, which has become optional.
            let gap = place > 0 && (name == "$map" || name == "$filter") ? place + 1 : place
            throw QueryError(
                code: Self.codes[name].map { $0 + 2 + gap } ?? 9, message: "Missing '\(key)' parameter to \(name)")
        }
        return document
    }

    private static let codes = [
        "$let": 16874, "$map": 16878, "$filter": 28646, "$cond": 17078, "$reduce": 40075, "$switch": 40060,
    ]

    private mutating func condition(_ operand: Value) throws(QueryError) -> ExpressionNode {
        if case .array(let elements) = operand {
            guard elements.count == 3 else {
                throw QueryError(
                    code: 16020,
                    message: "Expression $cond takes exactly 3 arguments. \(elements.count) were passed in.")
            }
            return .condition(if: try parse(elements[0]), then: try parse(elements[1]), else: try parse(elements[2]))
        }
        guard case .document = operand else {
            throw QueryError(code: 16020, message: "Expression $cond takes exactly 3 arguments. 1 were passed in.")
        }
        let document = try fields("$cond", operand, ["if", "then", "else"], required: ["if", "then", "else"])
        return .condition(
            if: try parse(document["if"] ?? .null), then: try parse(document["then"] ?? .null),
            else: try parse(document["else"] ?? .null))
    }

    private mutating func choice(_ operand: Value) throws(QueryError) -> ExpressionNode {
        let document = try fields("$switch", operand, ["branches", "default"], required: [])
        guard case .array(let elements)? = document["branches"] else {
            throw QueryError(
                code: 40061,
                message: "$switch expected an array for 'branches', found: \(document["branches"].typeName)")
        }
        guard !elements.isEmpty else { throw QueryError(code: 40068, message: "$switch requires at least one branch.") }
        var branches: [ExpressionNode.Branch] = []
        for element in elements {
            guard case .document(let branch) = element else {
                throw QueryError(
                    code: 40062, message: "$switch expected each branch to be an object, found: \(element.typeName)")
            }
            guard let when = branch["case"] else {
                throw QueryError(code: 40064, message: "$switch requires each branch have a 'case' expression")
            }
            guard let then = branch["then"] else {
                throw QueryError(code: 40065, message: "$switch requires each branch have a 'then' expression.")
            }
            guard branch.count == 2 else {
                throw QueryError(code: 40063, message: "$switch found an unknown argument to a branch")
            }
            branches.append(ExpressionNode.Branch(condition: try parse(when), result: try parse(then)))
        }
        var otherwise: ExpressionNode?
        if let value = document["default"] { otherwise = try parse(value) }
        return .choice(branches, default: otherwise)
    }

    static func check(variable name: String) throws(QueryError) {
        let isName = name.utf8.allSatisfy {
            $0 | 0x20 >= 0x61 && $0 | 0x20 <= 0x7A || $0 &- 0x30 < 10 || $0 == 0x5F || $0 >= 0x80
        }
        let first = name.utf8.first ?? 0
        guard !name.isEmpty, isName, name == "CURRENT" || first >= 0x61 && first <= 0x7A || first >= 0x80 else {
            throw QueryError(code: 9, message: "'\(name)' starts with an invalid character for a user variable name")
        }
    }

    private mutating func parse(_ value: Value, defining names: [String]) throws(QueryError) -> ExpressionNode {
        let outer = variables
        defer { variables = outer }
        variables.formUnion(names.map { ExactText($0) })
        return try parse(value)
    }

    private mutating func binding(_ operand: Value) throws(QueryError) -> ExpressionNode {
        let document = try fields("$let", operand, ["vars", "in"], required: ["vars", "in"])
        guard case .document(let definitions)? = document["vars"] else {
            throw QueryError(code: 10065, message: "invalid parameter: expected an object (vars)")
        }
        var bound: [ExpressionNode.Field] = []
        for field in definitions.fields {
            try Self.check(variable: field.key)
            bound.append(ExpressionNode.Field(name: field.key, value: try parse(field.value)))
        }
        return .binding(bound, in: try parse(document["in"] ?? .null, defining: definitions.keys))
    }

    private func variable(_ document: Document) throws(QueryError) -> String {
        guard let value = document["as"] else { return "this" }
        guard case .string(let name) = value else { throw .typeMismatch("'as' must be a string") }
        try Self.check(variable: name)
        return name
    }

    private mutating func map(_ operand: Value) throws(QueryError) -> ExpressionNode {
        let document = try fields("$map", operand, ["input", "as", "in"], required: ["input", "in"])
        let name = try variable(document)
        return .map(
            try parse(document["input"] ?? .null), as: name, in: try parse(document["in"] ?? .null, defining: [name]))
    }

    private mutating func filter(_ operand: Value) throws(QueryError) -> ExpressionNode {
        let document = try fields("$filter", operand, ["input", "as", "cond", "limit"], required: ["input", "cond"])
        let name = try variable(document)
        var limit: ExpressionNode?
        if let value = document["limit"] { limit = try parse(value) }
        return .filter(
            try parse(document["input"] ?? .null), as: name,
            condition: try parse(document["cond"] ?? .null, defining: [name]), limit: limit)
    }

    private mutating func reduce(_ operand: Value) throws(QueryError) -> ExpressionNode {
        let document = try fields(
            "$reduce", operand, ["input", "initialValue", "in"], required: ["input", "initialValue", "in"])
        return .reduce(
            try parse(document["input"] ?? .null), initial: try parse(document["initialValue"] ?? .null),
            in: try parse(document["in"] ?? .null, defining: ["this", "value"]))
    }

    private mutating func sortArray(_ operand: Value) throws(QueryError) -> ExpressionNode {
        let document = try fields("$sortArray", operand, ["input", "sortBy"], required: ["input", "sortBy"])
        let sort: Sort
        if case .document(let order)? = document["sortBy"] {
            sort = try Sort(order)
        } else {
            guard let direction = document["sortBy"]?.int64Value, direction == 1 || direction == -1 else {
                throw QueryError(code: 2_942_507, message: "The $sort element value must be either 1 or -1")
            }
            sort = Sort(wholeElementAscending: direction == 1)
        }
        return .sortArray(try parse(document["input"] ?? .null), sort)
    }
}
