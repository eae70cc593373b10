import DocumentModel

/// An operator with its operand, parsed and checked.
enum UpdateAction: Sendable {
    case set(Value)
    case setOnInsert(Value)
    case unset
    case increment(Value)
    case multiply(Value)
    case minimum(Value)
    case maximum(Value)
    case rename(to: UpdatePath)
    case currentDate(isTimestamp: Bool)
    case push(PushOperand)
    case addToSet([Value])
    case pull(PullCondition)
    case pullAll([Value])
    case pop(first: Bool)
    case bit([BitOperation])

    enum BitOperation: Sendable {
        case and(Value)
        case or(Value)
        case xor(Value)
    }

    init(_ operator: UpdateOperation.Operator, _ path: UpdatePath, _ value: Value) throws(QueryError) {
        switch `operator` {
        case .set: self = .set(value)
        case .setOnInsert: self = .setOnInsert(value)
        case .unset: self = .unset
        case .increment, .multiply:
            guard value.isNumber else {
                let verb = `operator` == .increment ? "increment" : "multiply"
                throw .typeMismatch("Cannot \(verb) with non-numeric argument: {\(path): \(value)}")
            }
            self = `operator` == .increment ? .increment(value) : .multiply(value)
        case .minimum: self = .minimum(value)
        case .maximum: self = .maximum(value)
        case .rename: self = try Self.rename(path, value)
        case .currentDate: self = try Self.currentDate(value)
        case .push: self = .push(try PushOperand(value))
        case .addToSet: self = .addToSet(try Self.each(value, "$addToSet"))
        case .pull: self = .pull(try PullCondition(value))
        case .pullAll:
            guard case .array(let elements) = value else {
                throw .badValue("$pullAll requires an array argument but was given a \(value.typeName)")
            }
            self = .pullAll(elements)
        case .pop:
            guard value.isNumber else { throw .failedToParse("Expected a number in: \(path): \(value)") }
            guard let direction = value.int64Value, direction == 1 || direction == -1 else {
                throw .failedToParse("$pop expects 1 or -1, found: \(value)")
            }
            self = .pop(first: direction == -1)
        case .bit: self = .bit(try Self.bits(value))
        }
    }

    private static func rename(_ path: UpdatePath, _ value: Value) throws(QueryError) -> UpdateAction {
        guard case .string(let text) = value else {
            throw .badValue("The 'to' field for $rename must be a string: \(path): \(value)")
        }
        let target = try UpdatePath(text)
        guard path.plain != nil else { throw .badValue("The source field for $rename may not be dynamic: \(path)") }
        guard target.plain != nil else {
            throw .badValue("The destination field for $rename may not be dynamic: \(text)")
        }
        guard path.steps != target.steps else {
            throw .badValue("The source and target field for $rename must differ: \(path): \"\(text)\"")
        }
        guard !path.conflicts(with: target) else {
            throw .badValue(
                "The source and target field for $rename must not be on the same path: \(path): \"\(text)\"")
        }
        return .rename(to: target)
    }

    private static func currentDate(_ value: Value) throws(QueryError) -> UpdateAction {
        switch value {
        case .bool: return .currentDate(isTimestamp: false)
        case .document(let document):
            guard document.count == 1, let type = document["$type"]?.stringValue, type == "date" || type == "timestamp"
            else {
                throw .badValue(
                    "The '$type' string field is required to be 'date' or 'timestamp': {$currentDate: {field : {$type: 'date'}}}"
                )
            }
            return .currentDate(isTimestamp: type == "timestamp")
        default:
            throw .badValue(
                "\(value.typeName) is not valid type for $currentDate. Please use a boolean ('true') or a $type expression ({$type: 'timestamp/date'})."
            )
        }
    }

    /// The values of `{$each: [...]}`, or the one value.
    private static func each(_ value: Value, _ name: String) throws(QueryError) -> [Value] {
        guard case .document(let document) = value, document.fields.first?.key == "$each" else { return [value] }
        guard case .array(let elements)? = document["$each"] else {
            throw .typeMismatch(
                "The argument to $each in \(name) must be an array but it was of type \(document["$each"]?.typeName ?? "missing")"
            )
        }
        guard document.count == 1 else { throw .badValue("Found unexpected fields after $each in \(name): \(value)") }
        return elements
    }

    private static func bits(_ value: Value) throws(QueryError) -> [BitOperation] {
        guard case .document(let document) = value else {
            throw .badValue(
                "The $bit modifier is not compatible with a \(value.typeName). You must pass in an embedded document: {$bit: {field: {and/or/xor: #}}"
            )
        }
        guard !document.isEmpty else {
            throw .badValue(
                "You must pass in at least one bitwise operation. The format is: {$bit: {field: {and/or/xor: #}}")
        }
        var operations: [BitOperation] = []
        for field in document.fields {
            switch field.value {
            case .int32, .int64: break
            default:
                throw .badValue(
                    "The $bit modifier field must be an Integer(32/64 bit); a '\(field.value.typeName)' is not supported here: {\(field.key): \(field.value)}"
                )
            }
            switch field.key {
            case "and": operations.append(.and(field.value))
            case "or": operations.append(.or(field.value))
            case "xor": operations.append(.xor(field.value))
            default:
                throw .badValue(
                    "The $bit modifier only supports 'and', 'or', and 'xor', not '\(field.key)' which is an unknown operator: {\(field.key): \(field.value)}"
                )
            }
        }
        return operations
    }

    /// Whether the operator creates a path that doesn't exist.
    var createsPath: Bool {
        switch self {
        case .unset, .pull, .pullAll, .pop, .rename: false
        default: true
        }
    }
}
