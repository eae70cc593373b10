/// The exact sum of doubles, kept as several doubles that don't overlap (Shewchuk, "Adaptive Precision Floating-Point Arithmetic",
/// 1997).
struct ExactSum: Sendable {
    private var sum = 0.0
    /// The rounding errors of `sum`.
    private var rest = 0.0
    /// The rounding errors of `rest`, smallest first; usually empty.
    private var parts: [Double] = []
    /// The sum if it isn't finite; otherwise `nil`.
    private var overflow: Double?

    mutating func add(_ number: Double) {
        let (next, error) = Self.add(sum, number)
        guard next.isFinite else {
            overflow = overflow.map { $0 + number } ?? next
            return
        }
        sum = next
        if error == 0 { return }
        let (nextRest, left) = Self.add(rest, error)
        rest = nextRest
        if left != 0 { Self.add(left, to: &parts) }
    }

    mutating func add(_ number: Int64) {
        let high = number & ~0xFFFF_FFFF
        add(Double(high))
        add(Double(number - high))
    }

    /// The double that is nearest to the sum.
    var rounded: Double {
        if let overflow { return overflow }
        var parts = parts
        Self.add(rest, to: &parts)
        Self.add(sum, to: &parts)
        guard var total = parts.popLast() else { return 0 }
        var error = 0.0
        while error == 0, let part = parts.popLast() { (total, error) = Self.add(total, part) }
        // Halfway between two doubles, the smaller parts decide.
        if let next = parts.last, error != 0, (error < 0) == (next < 0) {
            let (other, left) = Self.add(total, error * 2)
            if left == 0 { total = other }
        }
        return total
    }

    /// A rounded sum and its rounding error.
    private static func add(_ a: Double, _ b: Double) -> (sum: Double, error: Double) {
        let sum = a + b
        let part = sum - a
        return (sum, (a - (sum - part)) + (b - part))
    }

    private static func add(_ number: Double, to parts: inout [Double]) {
        var carry = number
        var kept = 0
        for part in parts {
            let (sum, error) = add(carry, part)
            if error != 0 {
                parts[kept] = error
                kept += 1
            }
            carry = sum
        }
        parts.removeLast(parts.count - kept)
        if carry != 0 { parts.append(carry) }
    }
}
