import DocumentModel
import Foundation

/// A series of preferred numbers, to which `$bucketAuto` rounds its bounds.
public struct Granularity: Sendable {
    /// The numbers of one decade; `nil` for the powers of two.
    private let series: [Double]?

    init(_ value: Value) throws(QueryError) {
        guard case .string(let name) = value else {
            throw QueryError(
                code: 40261,
                message: "The $bucketAuto 'granularity' field must be a string, but found type: \(value.typeName)")
        }
        if name == "POWERSOF2" { series = nil; return }
        guard let numbers = Self.numbers[name] else {
            throw QueryError(code: 40257, message: "Unknown rounding granularity '\(name)'")
        }
        series = numbers
    }

    /// Refuses values that can't be rounded to a series: only numbers that aren't negative can.
    static func check(_ value: Value) throws(QueryError) {
        guard let number = value.doubleValue else {
            throw QueryError(
                code: 40258,
                message:
                    "$bucketAuto can specify a 'granularity' with numeric boundaries only, but found a value with type: \(value.typeName)"
            )
        }
        guard !number.isNaN else {
            throw QueryError(
                code: 40259,
                message: "$bucketAuto can specify a 'granularity' with numeric boundaries only, but found a NaN")
        }
        guard number >= 0 else {
            throw QueryError(
                code: 40260,
                message:
                    "$bucketAuto can specify a 'granularity' with non-negative numbers only, but found a negative number: \(value)"
            )
        }
    }

    /// The next number of the series above a value; zero stays zero.
    func above(_ value: Value) -> Value {
        guard let number = value.doubleValue, number != 0 else { return value }
        return rounded(value, to: neighbour(of: number) { $0 > number }.above)
    }

    /// The next number of the series below a value; zero stays zero.
    func below(_ value: Value) -> Value {
        guard let number = value.doubleValue, number != 0 else { return value }
        return rounded(value, to: neighbour(of: number) { $0 >= number }.below)
    }

    private func rounded(_ value: Value, to number: Double) -> Value {
        if value.isDecimal { return .decimal128(Decimal128(rounding: number)) }
        guard !value.isDouble, let whole = Int64(exactly: number) else { return .double(number) }
        if case .int32 = value { return .integer(whole) }
        return .int64(whole)
    }

    /// The first number that satisfies a condition, and the one before it.
    private func neighbour(of number: Double, _ isAbove: (Double) -> Bool) -> (below: Double, above: Double) {
        guard number.isFinite else { return (number, number) }
        guard let series else {
            let exponent = Foundation.floor(Foundation.log2(number))
            for step in -1...2 {
                let candidate = Foundation.pow(2, exponent + Double(step))
                if isAbove(candidate) { return (candidate / 2, candidate) }
            }
            return (number, number)
        }
        let decade = Int(Foundation.floor(Foundation.log10(number)))
        var below = number
        for exponent in decade - 1...decade + 1 {
            for step in series {
                // Division keeps numbers with few decimal digits exact.
                let candidate =
                    exponent < 0
                    ? step / Foundation.pow(10, Double(-exponent)) : step * Foundation.pow(10, Double(exponent))
                if isAbove(candidate) { return (below, candidate) }
                below = candidate
            }
        }
        return (below, number)
    }

    /// Series of resistors and preferred numbers (IEC 60063, ISO 3), from 1 to 10.
    private static let numbers: [String: [Double]] = {
        var all: [String: [Double]] = [
            "1-2-5": [1, 2, 5],
            "E6": [1, 1.5, 2.2, 3.3, 4.7, 6.8],
            "E12": [1, 1.2, 1.5, 1.8, 2.2, 2.7, 3.3, 3.9, 4.7, 5.6, 6.8, 8.2],
            "E24": [
                1, 1.1, 1.2, 1.3, 1.5, 1.6, 1.8, 2, 2.2, 2.4, 2.7, 3, 3.3, 3.6, 3.9, 4.3, 4.7, 5.1, 5.6, 6.2, 6.8, 7.5,
                8.2, 9.1,
            ],
            "R5": [1, 1.6, 2.5, 4, 6.3],
            "R10": [1, 1.25, 1.6, 2, 2.5, 3.15, 4, 5, 6.3, 8],
            "R20": [
                1, 1.12, 1.25, 1.4, 1.6, 1.8, 2, 2.24, 2.5, 2.8, 3.15, 3.55, 4, 4.5, 5, 5.6, 6.3, 7.1, 8, 9,
            ],
        ]
        let r40 = [
            1, 1.06, 1.12, 1.18, 1.25, 1.32, 1.4, 1.5, 1.6, 1.7, 1.8, 1.9, 2, 2.12, 2.24, 2.36, 2.5, 2.65, 2.8, 3, 3.15,
            3.35, 3.55, 3.75, 4, 4.25, 4.5, 4.75, 5, 5.3, 5.6, 6, 6.3, 6.7, 7.1, 7.5, 8, 8.5, 9, 9.5,
        ]
        let between = [
            1.03, 1.09, 1.15, 1.22, 1.28, 1.36, 1.45, 1.55, 1.65, 1.75, 1.85, 1.95, 2.06, 2.18, 2.3, 2.43, 2.58, 2.72,
            2.9, 3.07, 3.25, 3.45, 3.65, 3.87, 4.12, 4.37, 4.62, 4.87, 5.15, 5.45, 5.75, 6.15, 6.5, 6.9, 7.3, 7.75,
            8.25, 8.75, 9.25, 9.75,
        ]
        all["R40"] = r40
        all["R80"] = (r40 + between).sorted()
        for count in [48, 96, 192] {
            all["E\(count)"] = (0..<count).map { step in
                // The standard has 9.20 where the formula gives 9.19.
                count == 192 && step == 185
                    ? 9.2 : (Foundation.pow(10, Double(step) / Double(count)) * 100).rounded() / 100
            }
        }
        return all
    }()
}
