/// Reads a pattern from its beginning to its end.
struct ScalarScanner {
    let scalars: [Unicode.Scalar]
    var position = 0

    init(_ text: String) { scalars = Array(text.unicodeScalars) }

    /// The scalar at the position; `nil` at the end.
    var current: Unicode.Scalar? { position < scalars.count ? scalars[position] : nil }

    /// What is left.
    var rest: ArraySlice<Unicode.Scalar> { scalars[position...] }

    /// Returns the scalar at the position, and goes on behind it; `nil` at the end.
    mutating func next() -> Unicode.Scalar? {
        guard let scalar = current else { return nil }
        position += 1
        return scalar
    }

    /// Goes on behind a text, if it is here.
    mutating func skip(_ text: String) -> Bool {
        guard rest.starts(with: text.unicodeScalars) else { return false }
        position += text.unicodeScalars.count
        return true
    }

    /// Reads a decimal number, of a huge one only the first digits; `nil` if there is none.
    mutating func number() -> Int? {
        var number: Int?
        while let digit = current, ("0"..."9").contains(digit), number ?? 0 < 100_000 {
            number = (number ?? 0) * 10 + Int(digit.value - 0x30)
            position += 1
        }
        return number
    }
}
