/// A value of a column or a parameter.
public enum SQLiteValue: Hashable, Sendable {
    case null
    case integer(Int64)
    case real(Double)
    case text(String)
    case blob([UInt8])

    public init(_ text: String?) { self = text.map(SQLiteValue.text) ?? .null }
    public init(_ number: Int64?) { self = number.map(SQLiteValue.integer) ?? .null }
    public init(_ number: Int?) { self = number.map { .integer(Int64($0)) } ?? .null }
    public init(_ number: Double?) { self = number.map(SQLiteValue.real) ?? .null }
    public init(_ flag: Bool?) { self = flag.map { .integer($0 ? 1 : 0) } ?? .null }
    public init(_ bytes: [UInt8]?) { self = bytes.map(SQLiteValue.blob) ?? .null }
}

extension SQLiteValue: ExpressibleByStringLiteral, ExpressibleByIntegerLiteral, ExpressibleByFloatLiteral,
    ExpressibleByBooleanLiteral, ExpressibleByNilLiteral
{
    public init(stringLiteral value: String) { self = .text(value) }
    public init(integerLiteral value: Int64) { self = .integer(value) }
    public init(floatLiteral value: Double) { self = .real(value) }
    public init(booleanLiteral value: Bool) { self = .integer(value ? 1 : 0) }
    public init(nilLiteral: ()) { self = .null }
}

/// A type that a column can be decoded to. The only conversion is from integers to `Double`.
public protocol SQLiteDecodable {
    /// Decodes a value; `nil` if it isn't a `Self`.
    init?(sqlite value: SQLiteValue)
}

extension Int64: SQLiteDecodable {
    public init?(sqlite value: SQLiteValue) {
        guard case .integer(let number) = value else { return nil }
        self = number
    }
}

extension Int: SQLiteDecodable {
    public init?(sqlite value: SQLiteValue) {
        guard case .integer(let number) = value, let number = Int(exactly: number) else { return nil }
        self = number
    }
}

extension Bool: SQLiteDecodable {
    public init?(sqlite value: SQLiteValue) {
        switch value {
        case .integer(0): self = false
        case .integer(1): self = true
        default: return nil
        }
    }
}

extension Double: SQLiteDecodable {
    public init?(sqlite value: SQLiteValue) {
        switch value {
        case .real(let number): self = number
        case .integer(let number): self = Double(number)
        default: return nil
        }
    }
}

extension String: SQLiteDecodable {
    public init?(sqlite value: SQLiteValue) {
        guard case .text(let text) = value else { return nil }
        self = text
    }
}

extension [UInt8]: SQLiteDecodable {
    /// The bytes of a blob, or the UTF-8 of a text.
    public init?(sqlite value: SQLiteValue) {
        switch value {
        case .blob(let bytes): self = bytes
        case .text(let text): self = Array(text.utf8)
        default: return nil
        }
    }
}

extension Optional: SQLiteDecodable where Wrapped: SQLiteDecodable {
    public init?(sqlite value: SQLiteValue) {
        if case .null = value {
            self = .none
            return
        }
        guard let wrapped = Wrapped(sqlite: value) else { return nil }
        self = wrapped
    }
}
