public import DocumentModel

/// A sum that keeps the widest type of its numbers. It is exact and rounded to a double only once, so that it doesn't depend on
/// their order.
public struct NumericSum: Sendable {
    private var integers: Int64 = 0
    private var doubles = ExactSum()
    private var decimal: Decimal128?
    private var hasDouble = false
    private var hasLong = false

    /// Creates an empty sum.
    public init() {}

    /// Adds a number; values that aren't numbers are ignored.
    public mutating func add(_ value: Value) {
        switch value {
        case .int32(let number): add(integer: Int64(number))
        case .int64(let number):
            hasLong = true
            add(integer: number)
        case .double(let number):
            hasDouble = true
            doubles.add(number)
        case .decimal128(let number): decimal = decimal?.adding(number) ?? number
        default: break
        }
    }

    private mutating func add(integer: Int64) {
        let (sum, overflow) = integers.addingReportingOverflow(integer)
        if overflow {
            hasDouble = true
            doubles.add(integers)
            integers = integer
        } else {
            integers = sum
        }
    }

    /// The sum as a double.
    public var doubleTotal: Double {
        var total = doubles
        total.add(integers)
        return total.rounded
    }

    /// The sum, of the widest type that was added; 0 if nothing was added.
    public var value: Value {
        if let decimal {
            var total = decimal.adding(Decimal128(integers))
            if hasDouble { total = total.adding(Decimal128(rounding: doubles.rounded)) }
            return .decimal128(total)
        }
        if hasDouble { return .double(doubleTotal) }
        return hasLong ? .int64(integers) : .integer(integers)
    }
}
