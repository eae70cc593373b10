/// Arithmetic with 34 digits, rounded half to even.
extension Decimal128 {
    /// The number with the opposite sign.
    public var negated: Decimal128 { isNaN ? self : Decimal128(high: high ^ 1 << 63, low: low) }

    /// Converts a double with 15 significant digits, as MongoDB does.
    public init(rounding number: Double) {
        let exact = Decimal128(exactValueOf: number)
        guard case .finite(let negative, let coefficient, let exponent) = exact.parts, coefficient != 0 else {
            self = exact; return
        }
        let surplus = Self.digits(coefficient) - 15
        guard surplus > 0 else { self = exact; return }
        let divisor = Self.power(of: surplus)
        var (quotient, remainder) = coefficient.quotientAndRemainder(dividingBy: divisor)
        if remainder > divisor / 2 || remainder == divisor / 2 && quotient % 2 == 1 { quotient += 1 }
        self = Decimal128(negative: negative, coefficient: quotient, exponent: exponent + surplus) ?? exact
    }

    /// The sum.
    public func adding(_ other: Decimal128) -> Decimal128 {
        switch (parts, other.parts) {
        case (.nan, _), (_, .nan): return .nan
        case (.infinity(let a), .infinity(let b)): return a == b ? self : .nan
        case (.infinity, _): return self
        case (_, .infinity): return other
        case (.finite(let aNegative, let a, let aExponent), .finite(let bNegative, let b, let bExponent)):
            let exponent = min(aExponent, bExponent)
            // If the numbers are further apart than that, the smaller one can't affect the result.
            let reach = Self.maximumDigits * 2 + 2
            if abs(aExponent - bExponent) > reach, a != 0, b != 0 { return aExponent > bExponent ? self : other }
            let left = Self.scaled(a, aExponent - exponent), right = Self.scaled(b, bExponent - exponent)
            if aNegative == bNegative {
                return Self.rounded(negative: aNegative, digits: DigitArithmetic.add(left, right), exponent: exponent)
            }
            let order = DigitArithmetic.compare(left, right)
            if order == 0 { return Self.rounded(negative: false, digits: [], exponent: exponent) }
            let difference = order > 0 ? DigitArithmetic.subtract(left, right) : DigitArithmetic.subtract(right, left)
            return Self.rounded(negative: order > 0 ? aNegative : bNegative, digits: difference, exponent: exponent)
        }
    }

    /// The product.
    public func multiplied(by other: Decimal128) -> Decimal128 {
        switch (parts, other.parts) {
        case (.nan, _), (_, .nan): return .nan
        case (.infinity(let a), .infinity(let b)): return a == b ? .infinity : Decimal128.infinity.negated
        case (.infinity(let a), .finite(let b, let coefficient, _)),
            (.finite(let b, let coefficient, _), .infinity(let a)):
            return coefficient == 0 ? .nan : a == b ? .infinity : Decimal128.infinity.negated
        case (.finite(let aNegative, let a, let aExponent), .finite(let bNegative, let b, let bExponent)):
            let product = DigitArithmetic.multiply(Self.scaled(a, 0), Self.scaled(b, 0))
            return Self.rounded(negative: aNegative != bNegative, digits: product, exponent: aExponent + bExponent)
        }
    }

    /// The quotient; division by zero gives an infinity, or NaN for zero by zero.
    public func divided(by other: Decimal128) -> Decimal128 {
        switch (parts, other.parts) {
        case (.nan, _), (_, .nan), (.infinity, .infinity): return .nan
        case (.infinity(let a), .finite(let b, _, _)): return a == b ? .infinity : Decimal128.infinity.negated
        case (.finite(let a, _, _), .infinity(let b)):
            return Self.rounded(negative: a != b, digits: [], exponent: Self.minimumExponent)
        case (.finite(let aNegative, let a, let aExponent), .finite(let bNegative, let b, let bExponent)):
            let negative = aNegative != bNegative
            if b == 0 { return a == 0 ? .nan : negative ? Decimal128.infinity.negated : .infinity }
            var exponent = aExponent - bExponent
            if a == 0 { return Self.rounded(negative: negative, digits: [], exponent: exponent) }
            var remainder = a % b
            var digits = Self.scaled(a / b, 0)
            // Two more digits than are kept decide the rounding; the last one is odd if there is a remainder.
            while remainder != 0, digits.count < Self.maximumDigits + 2 {
                remainder *= 10
                digits.append(UInt8(remainder / b))
                if digits.count == 1, digits[0] == 0 { digits = [] }
                remainder %= b
                exponent -= 1
            }
            if remainder != 0 { digits.append(1); exponent -= 1 }
            // The exponent of an exact quotient is the nearest one to the difference of both exponents.
            return Self.rounded(negative: negative, digits: digits, exponent: exponent)
        }
    }

    private static func rounded(negative: Bool, digits: [UInt8], exponent: Int) -> Decimal128 {
        Decimal128(negative: negative, digits: digits, exponent: exponent, rounding: true) ?? .nan
    }

    private static func scaled(_ coefficient: UInt128, _ zeros: Int) -> [UInt8] {
        if coefficient == 0 { return [] }
        return String(coefficient).utf8.map { $0 - UInt8(ascii: "0") } + [UInt8](repeating: 0, count: zeros)
    }
}

/// Unsigned numbers as decimal digits, the highest first, without leading zeros.
private enum DigitArithmetic {
    static func compare(_ a: [UInt8], _ b: [UInt8]) -> Int {
        a.count != b.count ? a.count - b.count : ByteOrder.compare(a, b)
    }

    static func add(_ a: [UInt8], _ b: [UInt8]) -> [UInt8] {
        var result: [UInt8] = []
        var carry: UInt8 = 0
        for place in 0..<max(a.count, b.count) {
            let sum =
                (place < a.count ? a[a.count - 1 - place] : 0) + (place < b.count ? b[b.count - 1 - place] : 0) + carry
            result.append(sum % 10)
            carry = sum / 10
        }
        if carry > 0 { result.append(carry) }
        return result.reversed()
    }

    /// The difference; `a` is not less than `b`.
    static func subtract(_ a: [UInt8], _ b: [UInt8]) -> [UInt8] {
        var result: [UInt8] = []
        var borrow = 0
        for place in 0..<a.count {
            var difference = Int(a[a.count - 1 - place]) - (place < b.count ? Int(b[b.count - 1 - place]) : 0) - borrow
            borrow = difference < 0 ? 1 : 0
            if difference < 0 { difference += 10 }
            result.append(UInt8(difference))
        }
        while result.last == 0 { result.removeLast() }
        return result.reversed()
    }

    static func multiply(_ a: [UInt8], _ b: [UInt8]) -> [UInt8] {
        if a.isEmpty || b.isEmpty { return [] }
        var columns = [Int](repeating: 0, count: a.count + b.count)
        for (i, left) in a.enumerated() {
            for (j, right) in b.enumerated() { columns[i + j + 1] += Int(left) * Int(right) }
        }
        for index in columns.indices.dropFirst().reversed() {
            columns[index - 1] += columns[index] / 10
            columns[index] %= 10
        }
        return columns.drop { $0 == 0 }.map { UInt8($0) }
    }
}
