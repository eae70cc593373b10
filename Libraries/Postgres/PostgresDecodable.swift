/// A type that a column can be decoded to.
public protocol PostgresDecodable {
    /// Throws ``PostgresError/Code/decoding`` for null and for a value that isn't a `Self`.
    static func decode(_ cell: PostgresCell) throws(PostgresError) -> Self
}

extension Optional: PostgresDecodable where Wrapped: PostgresDecodable {
    public static func decode(_ cell: PostgresCell) throws(PostgresError) -> Wrapped? {
        cell.isNull ? nil : try Wrapped.decode(cell)
    }
}

extension String: PostgresDecodable {
    public static func decode(_ cell: PostgresCell) throws(PostgresError) -> String { try cell.text }
}

extension PostgresDecodable where Self: FixedWidthInteger {
    public static func decode(_ cell: PostgresCell) throws(PostgresError) -> Self {
        if cell.isNull { throw PostgresError(.decoding, "column \(cell.column.name) is null") }
        let number: Self? = cell.withBytes { bytes in
            var result: Self = 0
            let isNegative = bytes.first == UInt8(ascii: "-")
            let digits = isNegative ? UnsafeRawBufferPointer(rebasing: bytes.dropFirst()) : bytes
            if digits.isEmpty { return nil }
            for digit in digits {
                guard let value = Self(exactly: Int(digit) - 48), value >= 0, value <= 9 else { return nil }
                let (product, overflow) = result.multipliedReportingOverflow(by: 10)
                // Negative numbers are accumulated downwards, since the smallest one has no positive counterpart.
                let (sum, overflow2) =
                    isNegative ? product.subtractingReportingOverflow(value) : product.addingReportingOverflow(value)
                if overflow || overflow2 { return nil }
                result = sum
            }
            return result
        }
        guard let number else { throw cell.mismatch("\(Self.self)") }
        return number
    }
}

extension Int: PostgresDecodable {}
extension Int64: PostgresDecodable {}
extension Int32: PostgresDecodable {}
extension Int16: PostgresDecodable {}
extension UInt32: PostgresDecodable {}

extension Bool: PostgresDecodable {
    public static func decode(_ cell: PostgresCell) throws(PostgresError) -> Bool {
        switch try cell.text {
        case "t", "true": true
        case "f", "false": false
        default: throw cell.mismatch("Bool")
        }
    }
}

extension Double: PostgresDecodable {
    public static func decode(_ cell: PostgresCell) throws(PostgresError) -> Double {
        guard let number = Double(try cell.text) else { throw cell.mismatch("Double") }
        return number
    }
}

/// The bytes of a `bytea`; of any other type the UTF-8 of its text.
extension Array: PostgresDecodable where Element: PostgresArrayElement {
    public static func decode(_ cell: PostgresCell) throws(PostgresError) -> [Element] { try Element.decodeArray(cell) }
}

/// An element of an array that a column can be decoded to.
public protocol PostgresArrayElement {
    static func decodeArray(_ cell: PostgresCell) throws(PostgresError) -> [Self]
}

extension UInt8: PostgresArrayElement {
    public static func decodeArray(_ cell: PostgresCell) throws(PostgresError) -> [UInt8] {
        if cell.isNull { throw PostgresError(.decoding, "column \(cell.column.name) is null") }
        if cell.column.typeOID != PostgresType.bytea { return cell.withBytes { Array($0) } }
        let decoded = cell.withBytes(hexDecoded)
        guard let decoded else { throw cell.mismatch("bytea in hex form") }
        return decoded
    }
}

extension String: PostgresArrayElement {
    public static func decodeArray(_ cell: PostgresCell) throws(PostgresError) -> [String] {
        var texts: [String] = []
        for element in try arrayElements(cell) {
            guard let element else { throw cell.mismatch("[String]: it has a null") }
            texts.append(element)
        }
        return texts
    }
}

extension Optional: PostgresArrayElement where Wrapped == String {
    public static func decodeArray(_ cell: PostgresCell) throws(PostgresError) -> [String?] { try arrayElements(cell) }
}

extension PostgresArrayElement where Self: FixedWidthInteger {
    public static func decodeArray(_ cell: PostgresCell) throws(PostgresError) -> [Self] {
        var numbers: [Self] = []
        for element in try arrayElements(cell) {
            guard let element, let number = Self(element) else { throw cell.mismatch("[\(Self.self)]") }
            numbers.append(number)
        }
        return numbers
    }
}

extension Int: PostgresArrayElement {}
extension Int64: PostgresArrayElement {}
extension Int32: PostgresArrayElement {}

/// The bytes of a hex form such as `\x0a1b…`; `nil` if it is malformed.
private func hexDecoded(_ text: UnsafeRawBufferPointer) -> [UInt8]? {
    guard text.count >= 2, text.count % 2 == 0, text[0] == UInt8(ascii: "\\"), text[1] == UInt8(ascii: "x") else {
        return nil
    }
    func nibble(_ byte: UInt8) -> UInt8? {
        switch byte {
        case 48...57: byte - 48
        case 97...102: byte - 87
        case 65...70: byte - 55
        default: nil
        }
    }
    var bytes: [UInt8] = []
    bytes.reserveCapacity(text.count / 2 - 1)
    for index in stride(from: 2, to: text.count, by: 2) {
        guard let high = nibble(text[index]), let low = nibble(text[index + 1]) else { return nil }
        bytes.append(high << 4 | low)
    }
    return bytes
}

/// The elements of a one-dimensional array in text form: `{a,"b,c",NULL}`.
private func arrayElements(_ cell: PostgresCell) throws(PostgresError) -> [String?] {
    if cell.isNull { throw PostgresError(.decoding, "column \(cell.column.name) is null") }
    let elements: [String?]? = cell.withBytes { text in
        guard text.count >= 2, text[0] == UInt8(ascii: "{"), text[text.count - 1] == UInt8(ascii: "}") else {
            return nil
        }
        var elements: [String?] = []
        var index = 1
        let end = text.count - 1
        while index < end {
            var element: [UInt8] = []
            let isQuoted = text[index] == UInt8(ascii: "\"")
            if isQuoted {
                index += 1
                while index < end, text[index] != UInt8(ascii: "\"") {
                    if text[index] == UInt8(ascii: "\\") { index += 1 }
                    guard index < end else { return nil }
                    element.append(text[index])
                    index += 1
                }
                guard index < end else { return nil }
                index += 1
            } else {
                while index < end, text[index] != UInt8(ascii: ",") {
                    // An unquoted brace begins an inner dimension, which isn't supported.
                    if text[index] == UInt8(ascii: "{") { return nil }
                    if text[index] == UInt8(ascii: "\\") { index += 1 }
                    guard index < end else { return nil }
                    element.append(text[index])
                    index += 1
                }
            }
            let string = String(decoding: element, as: UTF8.self)
            elements.append(!isQuoted && string == "NULL" ? nil : string)
            if index < end {
                guard text[index] == UInt8(ascii: ",") else { return nil }
                index += 1
            }
        }
        return elements
    }
    guard let elements else { throw cell.mismatch("a one-dimensional array") }
    return elements
}
