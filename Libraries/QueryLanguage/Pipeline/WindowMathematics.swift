import DocumentModel

/// The functions of `$setWindowFields` that compute with the sort value.
enum WindowMathematics {
    /// The position of a document on the axis of the sort value, in units if that is a date.
    private static func place(_ name: String, _ key: Value?, unit: Int64?) throws(QueryError) -> Double {
        if case .date(let milliseconds)? = key {
            guard let unit else {
                throw QueryError(code: 5_429_513, message: "\(name) over dates needs a 'unit'")
            }
            return Double(milliseconds) / Double(unit)
        }
        guard let number = key?.doubleValue else {
            throw QueryError(
                code: 5_429_414, message: "\(name) needs a sortBy of numbers or dates, not \(key.typeName)")
        }
        guard unit == nil else {
            throw QueryError(code: 5_429_414, message: "\(name) with a 'unit' needs a sortBy of dates")
        }
        return number
    }

    static func derivative(
        _ expression: Expression, _ unit: Int64?, _ contexts: ArraySlice<EvaluationContext>, _ keys: ArraySlice<[Value]>
    ) throws(QueryError) -> Value? {
        guard contexts.count > 1, let first = contexts.first, let last = contexts.last else { return .null }
        let start = try place("$derivative", keys.first?.first, unit: unit)
        let end = try place("$derivative", keys.last?.first, unit: unit)
        guard let a = try expression.evaluate(first), let b = try expression.evaluate(last), a.isNumber, b.isNumber,
            end != start
        else { return .null }
        let rise = try Arithmetic.subtract(b, a)
        guard !rise.isDecimal else {
            return .decimal128((rise.decimalValue ?? .nan).divided(by: Decimal128(rounding: end - start)))
        }
        return .double((rise.doubleValue ?? .nan) / (end - start))
    }

    /// The integral by the trapezoidal rule.
    static func integral(
        _ expression: Expression, _ unit: Int64?, _ contexts: ArraySlice<EvaluationContext>, _ keys: ArraySlice<[Value]>
    ) throws(QueryError) -> Value? {
        var total = Value.int32(0)
        var previous: (place: Double, value: Value)?
        for (context, key) in zip(contexts, keys) {
            let place = try place("$integral", key.first, unit: unit)
            guard let value = try expression.evaluate(context), value.isNumber else { continue }
            if let previous {
                let width = Value.double((place - previous.place) / 2)
                total = try Arithmetic.add(
                    total, try Arithmetic.multiply(try Arithmetic.add(previous.value, value), width))
            }
            previous = (place, value)
        }
        return contexts.isEmpty ? .null : total
    }

    static func movingAverage(
        _ expression: Expression, _ weight: WindowSpecification.MovingWeight, _ contexts: [EvaluationContext]
    ) throws(QueryError) -> [Value?] {
        var values: [Value?] = []
        var average: Value?
        for context in contexts {
            guard let value = try expression.evaluate(context), value.isNumber else {
                values.append(average ?? .null); continue
            }
            average = try average.map { (old) throws(QueryError) in try next(old, value, weight) } ?? value
            values.append(average)
        }
        return values
    }

    private static func next(_ old: Value, _ value: Value, _ weight: WindowSpecification.MovingWeight)
        throws(QueryError) -> Value
    {
        switch weight {
        case .fraction(let alpha):
            return try Arithmetic.add(
                try Arithmetic.multiply(value, alpha),
                try Arithmetic.multiply(old, try Arithmetic.subtract(.int32(1), alpha)))
        case .count(let count):
            // One more than the count may be no Int64.
            let alpha: Value =
                if old.isDecimal || value.isDecimal {
                    .decimal128(Decimal128(2).divided(by: Decimal128(count).adding(Decimal128(1))))
                } else {
                    .double(2 / (Double(count) + 1))
                }
            return try next(old, value, .fraction(alpha))
        }
    }

    /// Interpolates nulls between two numbers linearly; a null without a number on both sides stays null.
    static func linearFill(_ expression: Expression, _ contexts: [EvaluationContext], _ keys: [[Value]])
        throws(QueryError) -> [Value?]
    {
        var values: [Value?] = []
        var places: [Double] = []
        for (context, key) in zip(contexts, keys) {
            let value = try expression.evaluate(context)
            guard value.isNullish || value?.isNumber == true else {
                throw QueryError(
                    code: 605_001, message: "Value to be filled must be numeric or nullish, but found \(value.typeName)"
                )
            }
            values.append(value.isNullish ? .null : value)
            let isDate = if case .date? = key.first { true } else { false }
            let place = try place("$linearFill", key.first, unit: isDate ? 1 : nil)
            guard place != places.last else {
                throw QueryError(code: 605_001, message: "There can be no repeated values in the sort field")
            }
            places.append(place)
        }
        var left: Int?
        for index in values.indices where !values[index].isNullish {
            if let left, index > left + 1, let start = values[left], let end = values[index] {
                for gap in left + 1..<index {
                    let share = (places[gap] - places[left]) / (places[index] - places[left])
                    values[gap] = try Arithmetic.add(
                        start, try Arithmetic.multiply(try Arithmetic.subtract(end, start), .double(share)))
                }
            }
            left = index
        }
        return values
    }

    static func covariance(
        _ a: Expression, _ b: Expression, isSample: Bool, _ contexts: ArraySlice<EvaluationContext>
    ) throws(QueryError) -> Value? {
        var count = 0.0, meanA = 0.0, meanB = 0.0, moment = 0.0
        for context in contexts {
            guard let x = try a.evaluate(context)?.doubleValue, let y = try b.evaluate(context)?.doubleValue else {
                continue
            }
            count += 1
            let distance = x - meanA
            meanA += distance / count
            meanB += (y - meanB) / count
            moment += distance * (y - meanB)
        }
        let divisor = isSample ? count - 1 : count
        return divisor > 0 ? .double(moment / divisor) : .null
    }
}
