/// A parameter of a statement.
///
/// Scalars are sent as text of unspecified type, so that the server infers the type from the context, as it does for a quoted
/// literal; if that is ambiguous, the SQL has to specify it (`$1::bigint`). Arrays and `bytea` are sent in binary form with their
/// type.
public enum PostgresValue: Hashable, Sendable {
    case null
    /// Must not contain U+0000, which Postgres can't store.
    case text(String)
    /// A text that is UTF-8 already, e.g. a document's JSON.
    case utf8([UInt8])
    case int(Int64)
    case double(Double)
    case bool(Bool)
    case bytea([UInt8])
    /// `text[]`, for `= any($1)` and `unnest($1)`.
    case textArray([String?])
    /// `text[]` of texts that are UTF-8 already.
    case utf8Array([[UInt8]?])
    /// `bigint[]`
    case int8Array([Int64?])
    /// `boolean[]`
    case boolArray([Bool?])
    /// `bytea[]`
    case byteaArray([[UInt8]?])

    /// A JSON text for a `json` or `jsonb` parameter, which is sent unchanged.
    public static func json(_ text: String) -> PostgresValue { .text(text) }

    /// A text that is only for display, such as a script's message: U+0000, which can't be stored, becomes U+FFFD.
    public static func legible(_ text: String) -> PostgresValue {
        .text(storable(text))
    }

    /// Texts that are only for display, as ``legible(_:)``.
    public static func legibleArray(_ texts: [String]) -> PostgresValue { .textArray(texts.map(storable)) }

    private static func storable(_ text: String) -> String {
        text.utf8.contains(0) ? text.replacing("\0", with: "\u{FFFD}") : text
    }

    public init(_ text: String?) { self = text.map(PostgresValue.text) ?? .null }
    public init(_ number: Int64?) { self = number.map(PostgresValue.int) ?? .null }
    public init(_ number: Int?) { self = number.map { .int(Int64($0)) } ?? .null }
    public init(_ flag: Bool?) { self = flag.map(PostgresValue.bool) ?? .null }
    public init(_ bytes: [UInt8]?) { self = bytes.map(PostgresValue.bytea) ?? .null }

    /// The type that is declared when the statement is prepared; 0 leaves it to the server.
    var typeOID: UInt32 {
        switch self {
        case .null, .text, .utf8, .int, .double, .bool: 0
        case .bytea: PostgresType.bytea
        case .textArray, .utf8Array: PostgresType.textArray
        case .int8Array: PostgresType.int8Array
        case .boolArray: PostgresType.boolArray
        case .byteaArray: PostgresType.byteaArray
        }
    }
}

extension PostgresValue: ExpressibleByStringLiteral, ExpressibleByIntegerLiteral, ExpressibleByFloatLiteral,
    ExpressibleByBooleanLiteral, ExpressibleByNilLiteral
{
    public init(stringLiteral value: String) { self = .text(value) }
    public init(integerLiteral value: Int64) { self = .int(value) }
    public init(floatLiteral value: Double) { self = .double(value) }
    public init(booleanLiteral value: Bool) { self = .bool(value) }
    public init(nilLiteral: ()) { self = .null }
}

/// Object ids of the types that this library knows; they are fixed in Postgres.
enum PostgresType {
    static let bool: UInt32 = 16, bytea: UInt32 = 17, int8: UInt32 = 20, text: UInt32 = 25
    static let boolArray: UInt32 = 1000, byteaArray: UInt32 = 1001, textArray: UInt32 = 1009, int8Array: UInt32 = 1016
}

/// SQL and its parameters `$1`, `$2`, …
public struct PostgresStatement: Sendable {
    public var sql: String
    public var parameters: [PostgresValue]
    /// Whether to prepare the statement; `false` for SQL that is different each time.
    public var isPrepared: Bool

    public init(_ sql: String, _ parameters: [PostgresValue] = [], isPrepared: Bool = true) {
        self.sql = sql
        self.parameters = parameters
        self.isPrepared = isPrepared
    }
}

extension PostgresStatement: ExpressibleByStringLiteral {
    public init(stringLiteral value: String) { self.init(value) }
}

extension String {
    /// The text as an SQL identifier: quoted, with its quotes doubled.
    public var postgresIdentifier: String {
        var quoted = "\""
        for character in unicodeScalars {
            if character == "\"" { quoted += "\"" }
            quoted.unicodeScalars.append(character)
        }
        return quoted + "\""
    }
}
