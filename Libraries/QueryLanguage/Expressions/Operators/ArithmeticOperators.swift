import DocumentModel
import Foundation

/// `$add`, `$round` and the other operators on numbers.
extension ExpressionOperators {
    static let arithmetic: [ExpressionOperator] = [
        .variadic("$add") { (values) throws(QueryError) in try sum(values) },
        .variadic("$multiply") { (values) throws(QueryError) in
            var result = Value.int32(1)
            for value in values {
                if value.isNullish { return .null }
                guard let value, value.isNumber else {
                    throw .typeMismatch("$multiply only supports numeric types, not \(value.typeName)")
                }
                result = try widening(result, value, Arithmetic.multiply) { $0 * $1 }
            }
            return result
        },
        .binary("$subtract") { (a, b) throws(QueryError) in try subtract(a, b) },
        .binary("$divide") { (a, b) throws(QueryError) in
            guard let (a, b) = try numbers("$divide", a, b, code: 14) else { return .null }
            if a.isDecimal || b.isDecimal, let a = a.decimalValue, let b = b.decimalValue {
                guard Decimal128.compare(b, .zero) != 0 else { throw .badValue("can't $divide by zero") }
                return .decimal128(a.divided(by: b))
            }
            guard let a = a.doubleValue, let b = b.doubleValue, b != 0 else { throw .badValue("can't $divide by zero") }
            return .double(a / b)
        },
        .binary("$mod") { (a, b) throws(QueryError) in try modulo(a, b) },
        .unary("$abs") { (value) throws(QueryError) in
            try number("$abs", value, code: 28765) { (value) throws(QueryError) in
                switch value {
                case .int32(let number): return number == .min ? .int64(-Int64(number)) : .int32(abs(number))
                case .int64(let number):
                    guard number != .min else {
                        throw QueryError(code: 28680, message: "can't take $abs of long long min")
                    }
                    return .int64(abs(number))
                case .decimal128(let number):
                    return .decimal128(Decimal128.compare(number, .zero) < 0 ? number.negated : number)
                default: return .double(abs(value.doubleValue ?? .nan))
                }
            }
        },
        .unary("$ceil") { (value) throws(QueryError) in try rounded("$ceil", value, .up) },
        .unary("$floor") { (value) throws(QueryError) in try rounded("$floor", value, .down) },
        ExpressionOperator("$round", 1...2) { (arguments, _) throws(QueryError) in
            try rounded("$round", arguments, .toNearestOrEven)
        },
        ExpressionOperator("$trunc", 1...2) { (arguments, _) throws(QueryError) in
            try rounded("$trunc", arguments, .towardZero)
        },
        .unary("$exp") { (value) throws(QueryError) in try real("$exp", value, Foundation.exp) },
        .unary("$sqrt") { (value) throws(QueryError) in
            if let number = value?.doubleValue, number < 0 {
                throw QueryError(code: 28714, message: "$sqrt's argument must be greater than or equal to 0")
            }
            return try real("$sqrt", value) { $0.squareRoot() }
        },
        .unary("$ln") { (value) throws(QueryError) in
            if let number = value?.doubleValue, number <= 0 {
                throw QueryError(code: 28766, message: "$ln's argument must be a positive number, but is \(number)")
            }
            return try real("$ln", value, Foundation.log)
        },
        .unary("$log10") { (value) throws(QueryError) in
            if let number = value?.doubleValue, number <= 0 {
                throw QueryError(code: 28761, message: "$log10's argument must be a positive number, but is \(number)")
            }
            return try real("$log10", value, Foundation.log10)
        },
        .binary("$log") { (value, base) throws(QueryError) in
            if value.isNullish || base.isNullish { return .null }
            guard let number = value?.doubleValue else {
                throw QueryError(code: 28756, message: "$log's argument must be numeric, not \(value.typeName)")
            }
            guard let base = base?.doubleValue else {
                throw QueryError(code: 28757, message: "$log's base must be numeric, not \(base.typeName)")
            }
            guard number > 0 || number.isNaN else {
                throw QueryError(code: 28758, message: "$log's argument must be a positive number, but is \(number)")
            }
            guard base > 0 && base != 1 || base.isNaN else {
                throw QueryError(
                    code: 28759, message: "$log's base must be a positive number not equal to 1, but is \(base)")
            }
            return .double(Foundation.log(number) / Foundation.log(base))
        },
        .binary("$pow") { (base, exponent) throws(QueryError) in try power(base, exponent) },
        ExpressionOperator("$rand", 0...1) { (_, _) in .double(Double.random(in: 0..<1)) },
    ]

    /// The sum, which is a date if one of the values is a date. An integer beyond 64 bits becomes a double.
    static func sum(_ values: [Value?]) throws(QueryError) -> Value? {
        var total = Value.int32(0)
        var date: Int64?
        for value in values {
            if value.isNullish { return .null }
            switch value {
            case .date(let milliseconds)?:
                guard date == nil else {
                    throw QueryError(code: 16612, message: "only one date allowed in an $add expression")
                }
                date = milliseconds
            case let value? where value.isNumber: total = try widening(total, value, Arithmetic.add) { $0 + $1 }
            default: throw .typeMismatch("$add only supports numeric or date types, not \(value.typeName)")
            }
        }
        guard let date else { return total }
        return .date(try moved(date, by: total, sign: 1))
    }

    private static func moved(_ date: Int64, by number: Value, sign: Double) throws(QueryError) -> Int64 {
        let rounded =
            number.isDouble || number.isDecimal
            ? Int64(exactly: (number.doubleValue ?? .nan).rounded()) : number.int64Value
        guard let rounded else { throw QueryError(code: 15, message: "date overflow") }
        let (sum, overflow) =
            sign < 0 ? date.subtractingReportingOverflow(rounded) : date.addingReportingOverflow(rounded)
        guard !overflow else { throw QueryError(code: 15, message: "date overflow") }
        return sum
    }

    /// An integer operation that uses doubles if the result exceeds 64 bits.
    static func widening(
        _ a: Value, _ b: Value, _ operation: (Value, Value) throws(QueryError) -> Value,
        _ doubles: (Double, Double) -> Double
    ) throws(QueryError) -> Value {
        do {
            return try operation(a, b)
        } catch {
            guard let left = a.doubleValue, let right = b.doubleValue else { throw error }
            return .double(doubles(left, right))
        }
    }

    private static func subtract(_ a: Value?, _ b: Value?) throws(QueryError) -> Value? {
        if a.isNullish || b.isNullish { return .null }
        switch (a, b) {
        case (.date(let a)?, .date(let b)?):
            let (difference, overflow) = a.subtractingReportingOverflow(b)
            guard !overflow else { throw QueryError(code: 15, message: "date overflow") }
            return .int64(difference)
        case (.date(let date)?, let number?) where number.isNumber: return .date(try moved(date, by: number, sign: -1))
        case (let a?, let b?) where a.isNumber && b.isNumber: return try widening(a, b, Arithmetic.subtract) { $0 - $1 }
        default: throw .typeMismatch("can't $subtract \(b.typeName) from \(a.typeName)")
        }
    }

    private static func modulo(_ a: Value?, _ b: Value?) throws(QueryError) -> Value? {
        guard let (a, b) = try numbers("$mod", a, b, code: 14) else { return .null }
        guard b.isTruthy else { throw QueryError(code: 16610, message: "can't $mod by zero") }
        if a.isDecimal || b.isDecimal {
            guard let number = a.decimalValue, let divisor = b.decimalValue else { return .null }
            return .decimal128(number.remainder(dividingBy: divisor))
        }
        if a.isDouble || b.isDouble {
            guard let number = a.doubleValue, let divisor = b.doubleValue else { return .null }
            return .double(number.truncatingRemainder(dividingBy: divisor))
        }
        guard let number = a.int64Value, let divisor = b.int64Value else { return .null }
        let rest = divisor == -1 ? 0 : number % divisor
        if case .int32 = a, case .int32 = b { return .integer(rest) }
        return .int64(rest)
    }

    private static func power(_ base: Value?, _ exponent: Value?) throws(QueryError) -> Value? {
        if base.isNullish || exponent.isNullish { return .null }
        guard let base, base.isNumber, let number = base.doubleValue else {
            throw QueryError(code: 28762, message: "$pow's base must be numeric, not \(base.typeName)")
        }
        guard let exponent, exponent.isNumber, let power = exponent.doubleValue else {
            throw QueryError(code: 28763, message: "$pow's exponent must be numeric, not \(exponent.typeName)")
        }
        if number == 0, power < 0 {
            throw QueryError(code: 28764, message: "$pow cannot take a base of 0 and a negative exponent")
        }
        if !base.isDouble, !base.isDecimal, !exponent.isDouble, !exponent.isDecimal, power >= 0,
            let factor = base.int64Value,
            let times = exponent.int64Value, let exact = integerPower(factor, times)
        {
            if case .int32 = base, case .int32 = exponent { return .integer(exact) }
            return .int64(exact)
        }
        let result = pow(number, power)
        return base.isDecimal || exponent.isDecimal ? .decimal128(Decimal128(rounding: result)) : .double(result)
    }

    private static func integerPower(_ base: Int64, _ exponent: Int64) -> Int64? {
        if base == 0 || base == 1 { return exponent == 0 ? 1 : base }
        if base == -1 { return exponent % 2 == 0 ? 1 : -1 }
        guard exponent < 64 else { return nil }
        var result: Int64 = 1
        for _ in 0..<exponent {
            let (product, overflow) = result.multipliedReportingOverflow(by: base)
            if overflow { return nil }
            result = product
        }
        return result
    }

    /// Both numbers; `nil` if one is null.
    static func numbers(_ name: String, _ a: Value?, _ b: Value?, code: Int) throws(QueryError) -> (Value, Value)? {
        if a.isNullish || b.isNullish { return nil }
        guard let a, let b, a.isNumber, b.isNumber else {
            throw QueryError(
                code: code, message: "\(name) only supports numeric types, not \(a.typeName) and \(b.typeName)")
        }
        return (a, b)
    }

    static func number(
        _ name: String, _ value: Value?, code: Int = 28765, _ body: (Value) throws(QueryError) -> Value
    ) throws(QueryError) -> Value? {
        if value.isNullish { return .null }
        guard let value, value.isNumber else {
            throw QueryError(code: code, message: "\(name) only supports numeric types, not \(value.typeName)")
        }
        return try body(value)
    }

    /// A function of doubles; for a decimal the result is a decimal.
    static func real(_ name: String, _ value: Value?, _ function: (Double) -> Double) throws(QueryError) -> Value? {
        try number(name, value) { (value) in
            let result = function(value.doubleValue ?? .nan)
            return value.isDecimal ? .decimal128(Decimal128(rounding: result)) : .double(result)
        }
    }

    private static func rounded(_ name: String, _ value: Value?, _ rule: FloatingPointRoundingRule) throws(QueryError)
        -> Value?
    {
        try number(name, value) { (value) in
            switch value {
            case .double(let number): .double(number.rounded(rule))
            case .decimal128(let number): .decimal128(number.rounded(toPlace: 0, rule))
            default: value
            }
        }
    }

    private static func rounded(_ name: String, _ arguments: [Value?], _ rule: FloatingPointRoundingRule)
        throws(QueryError) -> Value?
    {
        if arguments.count == 2, arguments[1].isNullish { return .null }
        guard arguments.count == 1 || arguments[1]?.isNumber == true,
            let place = arguments.count == 2 ? arguments[1]?.intValue : 0
        else {
            throw QueryError(code: 51082, message: "precision argument to \(name) must be a integral value")
        }
        guard place >= -20, place <= 100 else {
            throw QueryError(
                code: 51083, message: "cannot apply \(name) with precision value \(place) value must be in [-20, 100]")
        }
        return try number(name, arguments[0], code: 51081) { (value) throws(QueryError) in
            switch value {
            case .decimal128(let number): return .decimal128(number.rounded(toPlace: place, rule))
            case .double(let number):
                guard number.isFinite else { return value }
                if place == 0 { return .double(number.rounded(rule)) }
                return .double(Decimal128(number.description)?.rounded(toPlace: place, rule).doubleValue ?? number)
            default:
                guard place < 0, let number = value.int64Value else { return value }
                let result = Decimal128(number).rounded(toPlace: place, rule)
                guard let integer = result.int64Value else {
                    throw QueryError(code: 51080, message: "invalid conversion from Decimal128 result in \(name)")
                }
                if case .int32 = value { return .integer(integer) }
                return .int64(integer)
            }
        }
    }

    static let trigonometry: [ExpressionOperator] = {
        let functions: [(String, @Sendable (Double) -> Double, ClosedRange<Double>?)] = [
            ("$sin", Foundation.sin, nil), ("$cos", Foundation.cos, nil), ("$tan", Foundation.tan, nil),
            ("$asin", Foundation.asin, -1...1),
            ("$acos", Foundation.acos, -1...1), ("$atan", Foundation.atan, nil), ("$sinh", Foundation.sinh, nil),
            ("$cosh", Foundation.cosh, nil), ("$tanh", Foundation.tanh, nil), ("$asinh", Foundation.asinh, nil),
            ("$acosh", Foundation.acosh, 1...Double.infinity), ("$atanh", Foundation.atanh, -1...1),
            ("$degreesToRadians", { $0 * .pi / 180 }, nil), ("$radiansToDegrees", { $0 * 180 / .pi }, nil),
        ]
        return functions.map { (name, function, bounds) in
            ExpressionOperator.unary(name) { (value) throws(QueryError) in
                if let number = value?.doubleValue {
                    let isPeriodic = ["$sin", "$cos", "$tan"].contains(name)
                    if isPeriodic && number.isInfinite || bounds.map({ !number.isNaN && !$0.contains(number) }) ?? false
                    {
                        throw QueryError(
                            code: 50989, message: "cannot apply \(name) to \(number), value is out of bounds")
                    }
                }
                return try real(name, value, function)
            }
        } + [
            .binary("$atan2") { (y, x) throws(QueryError) in
                guard let (y, x) = try numbers("$atan2", y, x, code: 51044), let a = y.doubleValue,
                    let b = x.doubleValue
                else { return .null }
                let result = Foundation.atan2(a, b)
                return y.isDecimal || x.isDecimal ? .decimal128(Decimal128(rounding: result)) : .double(result)
            }
        ]
    }()

    static let bits: [ExpressionOperator] = [
        bitwise("$bitAnd", -1) { $0 & $1 }, bitwise("$bitOr", 0) { $0 | $1 }, bitwise("$bitXor", 0) { $0 ^ $1 },
        .unary("$bitNot") { (value) throws(QueryError) in
            switch value {
            case .int32(let number)?: return .int32(~number)
            case .int64(let number)?: return .int64(~number)
            default:
                if value.isNullish { return .null }
                throw .typeMismatch("$bitNot only supports int and long, not: \(value.typeName)")
            }
        },
    ]

    private static func bitwise(
        _ name: String, _ neutral: Int64, _ operation: @escaping @Sendable (Int64, Int64) -> Int64
    ) -> ExpressionOperator {
        .variadic(name) { (values) throws(QueryError) in
            var result = neutral
            var isLong = false
            for value in values {
                if value.isNullish { return .null }
                switch value {
                case .int32(let number)?: result = operation(result, Int64(number))
                case .int64(let number)?:
                    result = operation(result, number)
                    isLong = true
                default: throw .typeMismatch("\(name) only supports int and long operands, not: \(value.typeName)")
                }
            }
            return isLong ? .int64(result) : .int32(Int32(truncatingIfNeeded: result))
        }
    }
}
