import DocumentModel
import DocumentSchema

/// The conversions of `$convert` between types.
enum Conversion {
    /// The types that a value can be converted to.
    enum Target: String {
        case double, string, objectId, bool, date, int, long, decimal

        init?(_ value: Value) {
            switch value {
            case .string(let name): self.init(rawValue: name)
            default:
                switch value.int64Value {
                case 1: self = .double
                case 2: self = .string
                case 7: self = .objectId
                case 8: self = .bool
                case 9: self = .date
                case 16: self = .int
                case 18: self = .long
                case 19: self = .decimal
                default: return nil
                }
            }
        }
    }

    static func convert(_ value: Value, to target: Target) throws(QueryError) -> Value {
        switch target {
        case .bool: return .bool(value.isTruthy)
        case .string: return .string(try string(value))
        case .objectId: return try objectId(value)
        case .date: return try date(value)
        case .double: return .double(try double(value))
        case .decimal: return .decimal128(try decimal(value))
        case .int: return try integer(value, "int") { Int32(exactly: $0).map { .int32($0) } }
        case .long: return try integer(value, "long") { .int64($0) }
        }
    }

    /// The error for a target that isn't supported: either a type for which `onError` may give a value, or not a type at all.
    static func refusal(of value: Value, to target: Value?) -> QueryError {
        switch target {
        case .string(let name)?:
            guard name != "number", (try? TypeSet(.string(name))) != nil else {
                return .badValue("Unknown type name: \(name)")
            }
            return unsupported(value, name)
        case let code? where code.isNumber:
            guard let number = code.int64Value, (try? TypeSet(.int64(number))) != nil else {
                return .failedToParse(
                    "In $convert, numeric value for 'to' does not correspond to a BSON type: \(code)")
            }
            return unsupported(value, "the type \(number)")
        default:
            return .failedToParse("$convert's 'to' argument must be a string or number, but is \(target.typeName)")
        }
    }

    private static func failed(_ message: String) -> QueryError { QueryError(code: 241, message: message) }

    private static func unsupported(_ value: Value, _ target: String) -> QueryError {
        failed("Unsupported conversion from \(value.typeName) to \(target) in $convert with no onError value")
    }

    private static func string(_ value: Value) throws(QueryError) -> String {
        switch value {
        case .string(let text), .symbol(let text): return text
        case .bool(let flag): return flag ? "true" : "false"
        case .objectId(let id): return id.hexString
        case .date(let milliseconds): return text(ofDate: milliseconds)
        case .binary(let binary) where binary.subtype == 4 && binary.bytes.count == 16: return binary.uuidString
        default:
            guard let text = text(of: value) else { throw unsupported(value, "string") }
            return text
        }
    }

    /// A number as text: whole doubles without a decimal point, very large and small ones with an exponent.
    static func text(of value: Value) -> String? {
        switch value {
        case .int32(let number): String(number)
        case .int64(let number): String(number)
        case .decimal128(let number): number.description
        case .double(let number):
            if number.isNaN {
                "NaN"
            } else if number.isInfinite {
                number < 0 ? "-Infinity" : "Infinity"
            } else if let whole = Int64(exactly: number), abs(number) < 1e15 {
                number == 0 && number.sign == .minus ? "-0" : String(whole)
            } else {
                number.description.hasSuffix(".0") ? String(number.description.dropLast(2)) : number.description
            }
        default: nil
        }
    }

    /// A date as text, always with milliseconds.
    static func text(ofDate milliseconds: Int64) -> String {
        let text = ISODate.text(milliseconds)
        return text.contains(".") ? text : text.dropLast() + ".000Z"
    }

    private static func objectId(_ value: Value) throws(QueryError) -> Value {
        switch value {
        case .objectId: return value
        case .string(let text):
            guard let id = ObjectId(hexString: text) else {
                throw failed("Failed to parse objectId '\(text)' in $convert with no onError value")
            }
            return .objectId(id)
        default: throw unsupported(value, "objectId")
        }
    }

    private static func date(_ value: Value) throws(QueryError) -> Value {
        switch value {
        case .date: return value
        case .objectId(let id): return .date(Int64(id.seconds) * 1000)
        case .timestamp(let time): return .date(Int64(time.seconds) * 1000)
        case .string(let text):
            guard let milliseconds = moment(text) else {
                throw failed("Error parsing date string '\(text)' in $convert with no onError value")
            }
            return .date(milliseconds)
        case .int64, .double, .decimal128:
            guard let milliseconds = value.truncatedInt64 else {
                throw failed("Attempt to convert \(value) to a date overflows")
            }
            return .date(milliseconds)
        default: throw unsupported(value, "date")
        }
    }

    /// Parses a date, in which a space before the zone is also allowed: `2018-03-20 11:00:06 +0500`.
    static func moment(_ text: String) -> Int64? {
        guard let space = text.lastIndex(of: " "), space > (text.firstIndex(of: ":") ?? text.endIndex) else {
            return ISODate.milliseconds(text)
        }
        return ISODate.milliseconds(text[..<space] + text[text.index(after: space)...])
    }

    private static func double(_ value: Value) throws(QueryError) -> Double {
        switch value {
        case .bool(let flag): return flag ? 1 : 0
        case .date(let milliseconds): return Double(milliseconds)
        case .string(let text):
            guard let number = parsed(text) else {
                throw failed("Failed to parse number '\(text)' in $convert with no onError value")
            }
            return number
        case .decimal128(let number):
            let result = number.doubleValue
            if result.isInfinite, case .finite = number.parts {
                throw failed("Conversion would overflow target type in $convert with no onError value: \(number)")
            }
            return result
        default:
            guard let number = value.doubleValue else { throw unsupported(value, "double") }
            return number
        }
    }

    private static func parsed(_ text: String) -> Double? {
        switch text.lowercased() {
        case "nan": return .nan
        case "inf", "infinity", "+inf", "+infinity": return .infinity
        case "-inf", "-infinity": return -.infinity
        default:
            let isPlain = text.utf8.allSatisfy {
                $0 &- 0x30 < 10 || $0 == 0x2B || $0 == 0x2D || $0 == 0x2E || $0 | 0x20 == 0x65
            }
            return isPlain ? Double(text).flatMap { $0.isFinite ? $0 : nil } : nil
        }
    }

    private static func decimal(_ value: Value) throws(QueryError) -> Decimal128 {
        switch value {
        case .bool(let flag): return Decimal128(flag ? 1 : 0)
        case .date(let milliseconds): return Decimal128(milliseconds)
        case .string(let text):
            guard let number = Decimal128(text, rounding: true) else {
                throw failed("Failed to parse number '\(text)' in $convert with no onError value")
            }
            return number
        default:
            guard let number = value.decimalValue else { throw unsupported(value, "decimal") }
            return number
        }
    }

    private static func integer(_ value: Value, _ name: String, _ narrow: (Int64) -> Value?) throws(QueryError) -> Value
    {
        let wide: Int64?
        switch value {
        case .bool(let flag): wide = flag ? 1 : 0
        case .date(let milliseconds):
            guard name == "long" else { throw unsupported(value, name) }
            wide = milliseconds
        case .string(let text):
            guard text.utf8.allSatisfy({ $0 &- 0x30 < 10 || $0 == 0x2B || $0 == 0x2D }), let number = Int64(text) else {
                throw failed("Failed to parse number '\(text)' in $convert with no onError value")
            }
            wide = number
        case .int32, .int64, .double, .decimal128:
            if value.isNaN {
                throw failed("Attempt to convert NaN value to integer type in $convert with no onError value")
            }
            wide = value.truncatedInt64
        default: throw unsupported(value, name)
        }
        guard let wide, let result = narrow(wide) else {
            throw failed("Conversion would overflow target type in $convert with no onError value: \(value)")
        }
        return result
    }
}
