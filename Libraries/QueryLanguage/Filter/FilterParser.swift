import DocumentModel
import DocumentSchema

/// Parses a filter's document into its tree.
struct FilterParser {
    /// The one `$near` that a filter may have.
    var nearness: (path: Path, condition: GeoCondition)?
    private var depth = 0
    /// How many `$elemMatch` enclose the current place.
    private var elementDepth = 0
    private var conditionCount = 0
    private let variables: Set<ExactText>

    /// The most conditions of a filter. Each condition tests each element of an array, so their number multiplies the work on one
    /// document.
    private static let maximumConditions = 20_000
    private var valueCount = 0
    /// The most values of all `$in` and `$nin` of a filter together: Postgres needs a kilobyte or more for each.
    private static let maximumValues = 100_000

    init(variables: Set<ExactText> = []) { self.variables = variables }

    mutating func parse(_ document: Document) throws(QueryError) -> FilterNode {
        depth += 1
        defer { depth -= 1 }
        guard depth <= 100 else { throw .badValue("the filter is nested too deeply") }
        var nodes: [FilterNode] = []
        for field in document.fields {
            try count()
            if field.key.utf8.first == UInt8(ascii: "$") {
                if let node = try topLevel(field.key, field.value) { nodes.append(node) }
            } else {
                guard UpdatePath.isShortEnough(field.key) else {
                    throw QueryError(code: 15, message: "FieldPath is too long")
                }
                let path = Path(field.key)
                for condition in try conditions(for: field.value, at: path) { nodes.append(.field(path, condition)) }
            }
        }
        return nodes.count == 1 ? nodes[0] : .and(nodes)
    }

    private mutating func count() throws(QueryError) {
        conditionCount += 1
        guard conditionCount <= Self.maximumConditions else {
            throw .badValue("the filter has more than \(Self.maximumConditions) conditions")
        }
    }

    private mutating func topLevel(_ name: String, _ value: Value) throws(QueryError) -> FilterNode? {
        switch name {
        case "$and": return .and(try list(name, value))
        case "$or": return .or(try list(name, value))
        case "$nor": return .nor(try list(name, value))
        case "$expr":
            guard elementDepth == 0 else {
                throw QueryError(code: 224, message: "$expr can only be applied to the top-level document")
            }
            return .expression(try Expression(value, variables: variables))
        case "$jsonSchema":
            guard case .document(let schema) = value else { throw .typeMismatch("$jsonSchema must be an object") }
            do throws(SchemaSyntaxError) {
                return .schema(try DocumentSchema(schema, dialect: .query))
            } catch {
                throw error.issues[0].queryError  // it has at least one
            }
        case "$comment": return nil
        case "$alwaysTrue", "$alwaysFalse":
            guard value.int64Value == 1 else { throw .failedToParse("\(name) must be an integer value of 1") }
            return .constant(name == "$alwaysTrue")
        case "$sampleRate":
            guard let rate = value.doubleValue, (0...1).contains(rate) else {
                throw .badValue("numeric argument to $sampleRate must be in [0, 1]")
            }
            return .expression(try Expression(["$lt": [["$rand": [:]], .double(rate)]]))
        case "$text", "$where": throw .notSupported(name)
        default:
            throw .badValue(
                "unknown top level operator: \(name). If you have a field name that starts with a '$' symbol, consider using $getField or $setField."
            )
        }
    }

    private mutating func list(_ name: String, _ value: Value) throws(QueryError) -> [FilterNode] {
        guard case .array(let elements) = value else { throw .badValue("\(name) must be an array") }
        guard !elements.isEmpty else { throw .badValue("$and/$or/$nor must be a nonempty array") }
        var nodes: [FilterNode] = []
        for element in elements {
            guard case .document(let document) = element else {
                throw .badValue("$or/$and/$nor entries need to be full objects")
            }
            nodes.append(try parse(document))
        }
        return nodes
    }

    /// Whether this is a document of operators, such as `{$gt: 5}`.
    static func isOperators(_ value: Value) -> Bool {
        guard case .document(let document) = value, let first = document.fields.first else { return false }
        return first.key.utf8.first == UInt8(ascii: "$") && !["$ref", "$id", "$db"].contains(first.key)
    }

    mutating func conditions(for value: Value, at path: Path?) throws(QueryError) -> [FieldCondition] {
        if case .regex(let expression) = value { return [.regex(try RegexCondition(expression))] }
        guard Self.isOperators(value), case .document(let operators) = value else {
            return [.equal(try defined(value))]
        }
        return try conditions(operators, at: path)
    }

    mutating func conditions(_ operators: Document, at path: Path?) throws(QueryError) -> [FieldCondition] {
        depth += 1
        defer { depth -= 1 }
        guard depth <= 100 else { throw .badValue("the filter is nested too deeply") }
        var conditions: [FieldCondition] = []
        for field in operators.fields {
            try count()
            if let condition = try condition(field.key, field.value, operators, path) { conditions.append(condition) }
        }
        return conditions
    }

    private mutating func condition(
        _ name: String, _ operand: Value, _ siblings: Document, _ path: Path?
    ) throws(QueryError) -> FieldCondition? {
        switch name {
        case "$eq": return .equal(try defined(operand))
        case "$ne":
            if case .regex = operand { throw .badValue("Can't have regex as arg to $ne.") }
            return .not(.equal(try defined(operand)))
        case "$gt", "$gte", "$lt", "$lte":
            if case .regex = operand {
                throw .badValue("Can't have RegEx as arg to predicate over field '\(path?.description ?? "")'.")
            }
            let operand = try defined(operand)
            return FieldCondition.Comparison(rawValue: name).map { .compare($0, operand) }
        case "$in": return try membership(name, operand)
        case "$nin": return .not(try membership(name, operand))
        case "$exists": return operand.isTruthy ? .exists : .not(.exists)
        case "$type": return .type(try TypeSet(operand))
        case "$size": return .size(try size(operand))
        case "$all": return try all(operand, path)
        case "$elemMatch": return try elementMatch(operand)
        case "$not": return try negation(operand, path)
        case "$regex": return .regex(try regex(operand, options: siblings["$options"]))
        case "$options":
            guard siblings["$regex"] != nil else { throw .badValue("$options needs a $regex") }
            return nil
        case "$mod": return try modulo(operand)
        case "$bitsAllSet", "$bitsAllClear", "$bitsAnySet", "$bitsAnyClear":
            guard let quantifier = BitTest.Quantifier(rawValue: name) else { return nil }
            return .bits(try BitTest(quantifier, operand))
        case "$geoWithin", "$within", "$geoIntersects", "$near", "$nearSphere", "$geoNear":
            let geo = try GeoCondition(name, operand, siblings: siblings)
            if geo.isNear, let path {
                guard nearness == nil else { throw .badValue("Too many geoNear expressions") }
                nearness = (path, geo)
            }
            return .geo(geo)
        case "$maxDistance", "$minDistance":
            guard siblings["$near"] != nil || siblings["$nearSphere"] != nil else {
                throw .badValue("\(name) needs a $near")
            }
            return nil
        case "$comment": return nil
        default: throw .badValue("unknown operator: \(name)")
        }
    }

    private func defined(_ operand: Value) throws(QueryError) -> Value {
        if case .undefined = operand { throw .badValue("cannot compare to undefined") }
        return operand
    }

    private mutating func membership(_ name: String, _ operand: Value) throws(QueryError) -> FieldCondition {
        guard case .array(let elements) = operand else { throw .badValue("\(name) needs an array") }
        valueCount += elements.count
        guard valueCount <= Self.maximumValues else {
            throw .badValue("the filter has more than \(Self.maximumValues) values in $in and $nin")
        }
        var values: [Value] = []
        var expressions: [RegexCondition] = []
        for element in elements {
            if case .regex(let expression) = element {
                try count()
                expressions.append(try RegexCondition(expression))
            } else {
                guard !Self.isOperators(element) else { throw .badValue("cannot nest $ under \(name)") }
                values.append(try defined(element))
            }
        }
        // Sorted for the matcher's binary search.
        return .in(values.sorted(), expressions)
    }

    private func size(_ operand: Value) throws(QueryError) -> Int {
        guard operand.isNumber else {
            throw .failedToParse("Failed to parse $size. Expected a number in: $size: \(operand)")
        }
        guard let size = operand.intValue else {
            throw .failedToParse("Failed to parse $size. Expected an integer: $size: \(operand)")
        }
        guard size >= 0 else {
            throw .failedToParse("Failed to parse $size. Expected a non-negative number in: $size: \(operand)")
        }
        return size
    }

    private mutating func all(_ operand: Value, _ path: Path?) throws(QueryError) -> FieldCondition {
        guard case .array(let elements) = operand else { throw .badValue("$all needs an array") }
        guard !elements.isEmpty else { return .in([], []) }
        let isElementMatch = elements[0]["$elemMatch"] != nil
        var conditions: [FieldCondition] = []
        for element in elements {
            try count()
            if isElementMatch {
                guard case .document(let document) = element, document.fields.first?.key == "$elemMatch" else {
                    throw .badValue("$all/$elemMatch has to be consistent")
                }
                conditions += try self.conditions(document, at: path)
            } else if case .regex(let expression) = element {
                conditions.append(.regex(try RegexCondition(expression)))
            } else {
                guard !Self.isOperators(element) else { throw .badValue("no $ expressions in $all") }
                conditions.append(.equal(element))
            }
        }
        return .allOf(conditions)
    }

    private mutating func elementMatch(_ operand: Value) throws(QueryError) -> FieldCondition {
        guard case .document(let document) = operand else { throw .badValue("$elemMatch needs an Object") }
        let logical = ["$and", "$or", "$nor", "$expr", "$where", "$jsonSchema"]
        if Self.isOperators(operand), let first = document.fields.first, !logical.contains(first.key) {
            return .elementSatisfies(try conditions(document, at: nil))
        }
        elementDepth += 1
        defer { elementDepth -= 1 }
        return .elementMatches(try parse(document))
    }

    private mutating func negation(_ operand: Value, _ path: Path?) throws(QueryError) -> FieldCondition {
        switch operand {
        case .regex(let expression): return .not(.regex(try RegexCondition(expression)))
        case .document(let operators):
            guard !operators.isEmpty else { throw .badValue("$not cannot be empty") }
            guard Self.isOperators(operand) else { throw .badValue("$not needs a regex or a document of operators") }
            let conditions = try conditions(operators, at: path)
            return .not(conditions.count == 1 ? conditions[0] : .allOf(conditions))
        default: throw .badValue("$not needs a regex or a document")
        }
    }

    private func regex(_ operand: Value, options: Value?) throws(QueryError) -> RegexCondition {
        var expression: RegularExpression
        switch operand {
        case .string(let pattern): expression = RegularExpression(pattern)
        case .regex(let given): expression = given
        default: throw .badValue("$regex has to be a string")
        }
        if let options {
            guard case .string(let options) = options else { throw .badValue("$options has to be a string") }
            guard expression.options.isEmpty || options.isEmpty else {
                throw QueryError(code: 51075, message: "options set in both $regex and $options")
            }
            if !options.isEmpty { expression.options = options }
        }
        return try RegexCondition(expression)
    }

    private func modulo(_ operand: Value) throws(QueryError) -> FieldCondition {
        guard case .array(let elements) = operand else { throw .badValue("malformed mod, needs to be an array") }
        guard elements.count >= 2 else { throw .badValue("malformed mod, not enough elements") }
        guard elements.count == 2 else { throw .badValue("malformed mod, too many elements") }
        guard elements[0].isNumber else { throw .badValue("malformed mod, divisor not a number") }
        guard elements[1].isNumber else { throw .badValue("malformed mod, remainder not a number") }
        guard let divisor = elements[0].truncatedInt64 else {
            throw .badValue("malformed mod, divisor value is invalid")
        }
        guard let remainder = elements[1].truncatedInt64 else {
            throw .badValue("malformed mod, remainder value is invalid")
        }
        guard divisor != 0 else { throw .badValue("divisor cannot be 0") }
        return .modulo(divisor: divisor, remainder: remainder)
    }
}
