public import DocumentModel

/// A sum that keeps the type of what it added: exact in integers, compensated in doubles.
public struct NumericSum: Sendable {
    private var integers: Int64 = 0
    private var double = 0.0
    private var compensation = 0.0
    private var decimal: Decimal128?
    private var hasDouble = false
    private var hasLong = false

    /// Of nothing yet.
    public init() {}

    /// Adds a number; what is none is passed over.
    public mutating func add(_ value: Value) {
        switch value {
        case .int32(let number): add(integer: Int64(number))
        case .int64(let number):
            hasLong = true
            add(integer: number)
        case .double(let number):
            hasDouble = true
            add(double: number)
        case .decimal128(let number): decimal = decimal?.adding(number) ?? number
        default: break
        }
    }

    private mutating func add(integer: Int64) {
        let (sum, overflow) = integers.addingReportingOverflow(integer)
        if overflow {
            hasDouble = true
            add(double: Double(integers))
            integers = integer
        } else {
            integers = sum
        }
    }

    /// Neumaier's compensated summation.
    private mutating func add(double number: Double) {
        let sum = double + number
        if sum.isFinite {
            compensation += abs(double) >= abs(number) ? (double - sum) + number : (number - sum) + double
        }
        double = sum
    }

    /// The sum as a double.
    public var doubleTotal: Double { double.isFinite ? double + compensation + Double(integers) : double }

    /// The sum, of the widest type that was added; 0 for none.
    public var value: Value {
        if let decimal {
            var total = decimal.adding(Decimal128(integers))
            if hasDouble { total = total.adding(Decimal128(rounding: doubleTotal - Double(integers))) }
            return .decimal128(total)
        }
        if hasDouble { return .double(doubleTotal) }
        return hasLong ? .int64(integers) : .integer(integers)
    }
}
