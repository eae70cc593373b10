import DocumentModel

/// The effect of each operator on one value.
enum UpdateArithmetic {
    enum Change {
        case nothing
        case value
        /// Elements were added at the end of an array.
        case appended(Int)
    }

    /// The value that an operator creates at a path that doesn't exist; `nil` if it creates none.
    static func initialValue(_ action: UpdateAction, now: Int64) throws(QueryError) -> Value? {
        switch action {
        case .set(let value), .setOnInsert(let value), .increment(let value), .minimum(let value), .maximum(let value):
            return value
        case .multiply(let factor): return try Arithmetic.multiply(.int32(0), factor)
        case .currentDate(let isTimestamp): return moment(isTimestamp, now)
        case .push(let operand):
            var elements: [Value] = []
            operand.apply(to: &elements)
            return .array(elements)
        case .addToSet(let values):
            var elements: [Value] = []
            _ = add(values, to: &elements)
            return .array(elements)
        case .bit(let operations): return try bits(.int32(0), operations, at: "", id: nil)
        case .unset, .rename, .pull, .pullAll, .pop: return nil
        }
    }

    private static func moment(_ isTimestamp: Bool, _ now: Int64) -> Value {
        isTimestamp ? .timestamp(Timestamp(seconds: UInt32(truncatingIfNeeded: now / 1000), increment: 1)) : .date(now)
    }

    /// Applies an operator to the value at a path.
    static func change(_ value: inout Value, by action: UpdateAction, at path: String, id: Value?, now: Int64)
        throws(QueryError) -> Change
    {
        switch action {
        case .set(let new), .setOnInsert(let new): return assign(new, to: &value)
        case .increment(let step):
            return assign(try arithmetic("$inc", value, step, path, id, Arithmetic.add), to: &value)
        case .multiply(let factor):
            return assign(try arithmetic("$mul", value, factor, path, id, Arithmetic.multiply), to: &value)
        case .minimum(let other): return Value.compare(other, value) < 0 ? assign(other, to: &value) : .nothing
        case .maximum(let other): return Value.compare(other, value) > 0 ? assign(other, to: &value) : .nothing
        case .currentDate(let isTimestamp): return assign(moment(isTimestamp, now), to: &value)
        case .bit(let operations): return assign(try bits(value, operations, at: path, id: id), to: &value)
        case .unset, .rename: return .nothing
        default: return try changeArray(&value, by: action, at: path, id: id, now: now)
        }
    }

    private static func assign(_ new: Value, to value: inout Value) -> Change {
        if new.isIdentical(to: value) { return .nothing }
        value = new
        return .value
    }

    private static func place(_ id: Value?) -> String { id.map { "{_id: \($0)}" } ?? "{no id}" }

    private static func arithmetic(
        _ name: String, _ value: Value, _ operand: Value, _ path: String, _ id: Value?,
        _ operation: (Value, Value) throws(QueryError) -> Value
    ) throws(QueryError) -> Value {
        guard value.isNumber else {
            throw .typeMismatch(
                "Cannot apply \(name) to a value of non-numeric type. \(place(id)) has the field '\(path)' of non-numeric type \(value.typeName)"
            )
        }
        do {
            return try operation(value, operand)
        } catch {
            throw .badValue("Failed to apply \(name) operations to current value (\(value)) for document \(place(id))")
        }
    }

    private static func bits(_ value: Value, _ operations: [UpdateAction.BitOperation], at path: String, id: Value?)
        throws(QueryError) -> Value
    {
        var result = value
        for operation in operations {
            let operand: Value
            switch operation {
            case .and(let value), .or(let value), .xor(let value): operand = value
            }
            guard let left = integer(result), let right = integer(operand) else {
                throw .badValue(
                    "Cannot apply $bit to a value of non-integral type.\(place(id)) has the field \(path) of non-integer type \(value.typeName)"
                )
            }
            let bits =
                switch operation {
                case .and: left & right
                case .or: left | right
                case .xor: left ^ right
                }
            if case .int32 = result, case .int32 = operand {
                result = .int32(Int32(truncatingIfNeeded: bits))
            } else {
                result = .int64(bits)
            }
        }
        return result
    }

    private static func integer(_ value: Value) -> Int64? {
        switch value {
        case .int32(let number): Int64(number)
        case .int64(let number): number
        default: nil
        }
    }

    private static func changeArray(
        _ value: inout Value, by action: UpdateAction, at path: String, id: Value?, now: Int64
    ) throws(QueryError) -> Change {
        let type = value.typeName
        guard var elements = value.takeArray() else { throw notAnArray(action, path, type, id) }
        defer { value = .array(elements) }
        switch action {
        case .push(let operand):
            if operand.onlyAppends {
                elements.append(contentsOf: operand.values)
                return operand.values.isEmpty ? .nothing : .appended(operand.values.count)
            }
            let before = elements
            operand.apply(to: &elements)
            return Value.array(before).isIdentical(to: .array(elements)) ? .nothing : .value
        case .addToSet(let values):
            let added = add(values, to: &elements)
            return added == 0 ? .nothing : .appended(added)
        case .pull(let condition):
            var kept: [Value] = []
            for element in elements where try !condition.matches(element, now: now) { kept.append(element) }
            return keep(kept, in: &elements)
        case .pullAll(let values):
            let removed = Set(values)
            return keep(elements.filter { !removed.contains($0) }, in: &elements)
        case .pop(let first):
            if elements.isEmpty { return .nothing }
            if first { elements.removeFirst() } else { elements.removeLast() }
            return .value
        default: return .nothing
        }
    }

    private static func keep(_ kept: [Value], in elements: inout [Value]) -> Change {
        if kept.count == elements.count { return .nothing }
        elements = kept
        return .value
    }

    private static func add(_ values: [Value], to elements: inout [Value]) -> Int {
        var added = 0
        // For the few elements that such arrays usually have, a set costs more than it saves.
        if elements.count &* values.count < 1000 {
            for value in values where !elements.contains(where: { $0 == value }) { elements.append(value); added += 1 }
            return added
        }
        var present = Set(elements)
        for value in values where present.insert(value).inserted { elements.append(value); added += 1 }
        return added
    }

    private static func notAnArray(_ action: UpdateAction, _ path: String, _ type: String, _ id: Value?) -> QueryError {
        switch action {
        case .pop: .typeMismatch("Path '\(path)' contains an element of non-array type '\(type)'")
        case .pull, .pullAll: .badValue("Cannot apply $pull to a non-array value")
        case .addToSet:
            .badValue("Cannot apply $addToSet to non-array field. Field named '\(path)' has non-array type \(type)")
        default: .badValue("The field '\(path)' must be an array but is of type \(type) in document \(place(id))")
        }
    }
}
