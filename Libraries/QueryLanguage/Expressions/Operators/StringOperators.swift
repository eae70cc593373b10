import DocumentModel
import RegularExpressions

/// Operators on strings.
extension ExpressionOperators {
    static let string: [ExpressionOperator] = [
        .variadic("$concat") { (values) throws(QueryError) in
            var result = ""
            for value in values {
                if value.isNullish { return .null }
                guard case .string(let text)? = value else {
                    throw QueryError(code: 16702, message: "$concat only supports strings, not \(value.typeName)")
                }
                result += text
                guard result.utf8.count <= ComputedBounds.bounds.maximumBytes else {
                    throw QueryError(code: 10334, message: "$concat would make too long a string")
                }
            }
            return .string(result)
        },
        ExpressionOperator("$indexOfBytes", 2...4) { (arguments, _) throws(QueryError) in
            guard let (text, part) = try texts("$indexOfBytes", arguments) else { return .null }
            guard let range = try range("$indexOfBytes", arguments, count: text.utf8.count) else {
                return .integer(emptyPosition(of: part, arguments, count: text.utf8.count))
            }
            return .integer(ByteSearch(part).first(in: Array(text.utf8), range) ?? -1)
        },
        ExpressionOperator("$indexOfCP", 2...4) { (arguments, _) throws(QueryError) in
            guard let (text, part) = try texts("$indexOfCP", arguments) else { return .null }
            let bytes = Array(text.utf8)
            // The place at which each code point begins, and the end.
            let starts = bytes.indices.filter { bytes[$0] & 0xC0 != 0x80 } + [bytes.count]
            guard let range = try range("$indexOfCP", arguments, count: starts.count - 1) else {
                return .integer(emptyPosition(of: part, arguments, count: starts.count - 1))
            }
            let found = ByteSearch(part).first(in: bytes, starts[range.lowerBound]..<starts[range.upperBound])
            return .integer(found.map { place in starts.partitioningIndex { $0 >= place } } ?? -1)
        },
        .binary("$split") { (text, separator) throws(QueryError) in
            if text.isNullish || separator.isNullish { return .null }
            guard case .string(let text)? = text else {
                throw QueryError(
                    code: 40085,
                    message:
                        "$split requires an expression that evaluates to a string as a first argument, found: \(text.typeName)"
                )
            }
            guard case .string(let separator)? = separator else {
                throw QueryError(
                    code: 40086,
                    message:
                        "$split requires an expression that evaluates to a string as a second argument, found: \(separator.typeName)"
                )
            }
            guard !separator.isEmpty else {
                throw QueryError(code: 40087, message: "$split requires a non-empty separator")
            }
            return .array(try split(text, by: separator).map { .string($0) })
        },
        .unary("$strLenBytes") { (value) throws(QueryError) in
            guard case .string(let text)? = value else {
                throw QueryError(
                    code: 34473, message: "$strLenBytes requires a string argument, found: \(value.typeName)")
            }
            return .integer(text.utf8.count)
        },
        .unary("$strLenCP") { (value) throws(QueryError) in
            guard case .string(let text)? = value else {
                throw QueryError(code: 34471, message: "$strLenCP requires a string argument, found: \(value.typeName)")
            }
            return .integer(text.unicodeScalars.count)
        },
        .binary("$strcasecmp") { (a, b) throws(QueryError) in
            let a = try text("$strcasecmp", a), b = try text("$strcasecmp", b)
            return .int32(Int32(ByteOrder.compare(asciiUppercased(a), asciiUppercased(b)).signum()))
        },
        ExpressionOperator("$substr", 3...3) { (arguments, _) throws(QueryError) in try bytes("$substr", arguments) },
        ExpressionOperator("$substrBytes", 3...3) { (arguments, _) throws(QueryError) in
            try bytes("$substrBytes", arguments)
        },
        ExpressionOperator("$substrCP", 3...3) { (arguments, _) throws(QueryError) in
            let scalars = Array(try text("$substrCP", arguments[0]).unicodeScalars)
            guard let start = arguments[1]?.intValue else {
                throw QueryError(
                    code: 34450,
                    message: "$substrCP: starting index must be a numeric type (is BSON type \(arguments[1].typeName))")
            }
            guard let count = arguments[2]?.intValue else {
                throw QueryError(
                    code: 34452,
                    message: "$substrCP: length must be a numeric type (is BSON type \(arguments[2].typeName))")
            }
            guard count >= 0 else {
                throw QueryError(code: 34454, message: "$substrCP: length must be a nonnegative integer.")
            }
            guard start >= 0 else {
                throw QueryError(code: 34455, message: "$substrCP: the starting index must be nonnegative integer.")
            }
            var result = String.UnicodeScalarView()
            result.append(contentsOf: scalars.dropFirst(start).prefix(count))
            return .string(String(result))
        },
        .unary("$toLower") { (value) throws(QueryError) in .string(asciiLowercased(try text("$toLower", value))) },
        .unary("$toUpper") { (value) throws(QueryError) in .string(asciiUppercased(try text("$toUpper", value))) },
    ]

    static let namedString: [NamedOperator] = [
        NamedOperator("$trim", ["input"], optional: ["chars"]) { (arguments, _) throws(QueryError) in
            try trim("$trim", arguments, leading: true, trailing: true)
        },
        NamedOperator("$ltrim", ["input"], optional: ["chars"]) { (arguments, _) throws(QueryError) in
            try trim("$ltrim", arguments, leading: true, trailing: false)
        },
        NamedOperator("$rtrim", ["input"], optional: ["chars"]) { (arguments, _) throws(QueryError) in
            try trim("$rtrim", arguments, leading: false, trailing: true)
        },
        NamedOperator("$replaceOne", ["input", "find", "replacement"]) { (arguments, _) throws(QueryError) in
            try replace("$replaceOne", arguments, all: false)
        },
        NamedOperator("$replaceAll", ["input", "find", "replacement"]) { (arguments, _) throws(QueryError) in
            try replace("$replaceAll", arguments, all: true)
        },
        NamedOperator("$regexMatch", ["input", "regex"], optional: ["options"]) { (arguments, _) throws(QueryError) in
            guard let (text, regex) = try regex("$regexMatch", arguments) else { return .bool(false) }
            return .bool(try regex.matches(text))
        },
        NamedOperator("$regexFind", ["input", "regex"], optional: ["options"]) { (arguments, _) throws(QueryError) in
            guard let (text, regex) = try regex("$regexFind", arguments),
                let match = try regex.firstMatch(in: text, from: 0)
            else { return .null }
            var matches = RegexMatches(text)
            return matches.found(match)
        },
        NamedOperator("$regexFindAll", ["input", "regex"], optional: ["options"]) { (arguments, _) throws(QueryError) in
            guard let (text, regex) = try regex("$regexFindAll", arguments) else { return .array([]) }
            var results: [Value] = []
            var offset = 0
            var matches = RegexMatches(text)
            let bytes = matches.bytes
            while offset <= bytes.count, let match = try regex.firstMatch(in: text, from: offset),
                let whole = match.first ?? nil
            {
                results.append(matches.found(match))
                try QueryError.throwIfInterrupted(every: results.count)
                offset = whole.upperBound
                guard whole.isEmpty else { continue }
                // After an empty match, the search continues at the next character.
                offset += 1
                while offset < bytes.count, bytes[offset] & 0xC0 == 0x80 { offset += 1 }
            }
            return .array(results)
        },
    ]

    /// The text that string operators use: numbers and dates as text, an empty text for null.
    static func text(_ name: String, _ value: Value?) throws(QueryError) -> String {
        switch value {
        case nil, .null?, .undefined?: return ""
        case .string(let text)?, .symbol(let text)?: return text
        case .date(let milliseconds)?: return Conversion.text(ofDate: milliseconds)
        case .int32, .int64, .double, .decimal128: return Conversion.text(of: value ?? .null) ?? ""
        default: throw QueryError(code: 16007, message: "can't convert from BSON type \(value.typeName) to String")
        }
    }

    static func asciiLowercased(_ text: String) -> String {
        String(decoding: text.utf8.map { $0 >= 0x41 && $0 <= 0x5A ? $0 | 0x20 : $0 }, as: UTF8.self)
    }

    static func asciiUppercased(_ text: String) -> String {
        String(decoding: text.utf8.map { $0 >= 0x61 && $0 <= 0x7A ? $0 & 0xDF : $0 }, as: UTF8.self)
    }

    private static func texts(_ name: String, _ arguments: [Value?]) throws(QueryError) -> (String, String)? {
        if arguments[0].isNullish { return nil }
        guard case .string(let text)? = arguments[0] else {
            throw QueryError(
                code: name == "$indexOfCP" ? 40093 : 40091,
                message: "\(name) requires a string as the first argument, found: \(arguments[0].typeName)")
        }
        guard case .string(let part)? = arguments[1] else {
            throw QueryError(
                code: name == "$indexOfCP" ? 40094 : 40092,
                message: "\(name) requires a string as the second argument, found: \(arguments[1].typeName)")
        }
        return (text, part)
    }

    /// The place at which an empty text is found in an empty range.
    private static func emptyPosition(of wanted: String, _ arguments: [Value?], count: Int) -> Int {
        let start = arguments.count > 2 ? arguments[2]?.intValue ?? 0 : 0
        return wanted.isEmpty && start <= count ? start : -1
    }

    static func split(_ text: String, by separator: String) throws(QueryError) -> [String] {
        let bytes = Array(text.utf8), search = ByteSearch(separator)
        var parts: [String] = []
        var start = 0
        while let place = search.first(in: bytes, start..<bytes.count) {
            parts.append(String(decoding: bytes[start..<place], as: UTF8.self))
            guard parts.count < 1_000_000 else {
                throw QueryError(code: 146, message: "too many parts of a string")
            }
            start = place + search.count
        }
        parts.append(String(decoding: bytes[start...], as: UTF8.self))
        return parts
    }

    private static func bytes(_ name: String, _ arguments: [Value?]) throws(QueryError) -> Value? {
        let bytes = Array(try text(name, arguments[0]).utf8)
        guard let start = arguments[1]?.truncatedInt64 else {
            throw QueryError(
                code: 16034,
                message: "\(name): starting index must be a numeric type (is BSON type \(arguments[1].typeName))")
        }
        guard let count = arguments[2]?.truncatedInt64 else {
            throw QueryError(
                code: 16035, message: "\(name): length must be a numeric type (is BSON type \(arguments[2].typeName))")
        }
        guard start >= 0 else {
            throw QueryError(code: 50752, message: "\(name): starting index must be non-negative (got: \(start))")
        }
        let lower = Int(clamping: min(start, Int64(bytes.count)))
        let upper = count < 0 ? bytes.count : min(bytes.count, lower + Int(clamping: min(count, Int64(bytes.count))))
        let splits = lower < bytes.count && bytes[lower] & 0xC0 == 0x80
        guard !splits else {
            throw QueryError(
                code: 28656, message: "\(name):  Invalid range, starting index is a UTF-8 continuation byte.")
        }
        guard upper == bytes.count || bytes[upper] & 0xC0 != 0x80 else {
            throw QueryError(
                code: 28657, message: "\(name):  Invalid range, ending index is in the middle of a UTF-8 character.")
        }
        return .string(String(decoding: bytes[lower..<upper], as: UTF8.self))
    }

    private static func trim(
        _ name: String, _ arguments: NamedOperator.Arguments, leading: Bool, trailing: Bool
    ) throws(QueryError) -> Value? {
        if arguments["input"].isNullish { return .null }
        guard case .string(let text)? = arguments["input"] else {
            throw QueryError(
                code: 50699,
                message: "\(name) requires its input to be a string, got \(arguments["input"].typeName) instead.")
        }
        var isTrimmed: (Unicode.Scalar) -> Bool = { Self.whitespace.contains($0) }
        if arguments.isGiven("chars") {
            if arguments["chars"].isNullish { return .null }
            guard case .string(let characters)? = arguments["chars"] else {
                throw QueryError(
                    code: 50700,
                    message: "\(name) requires 'chars' to be a string, got \(arguments["chars"].typeName) instead.")
            }
            let set = Set(characters.unicodeScalars)
            isTrimmed = { set.contains($0) }
        }
        var scalars = text.unicodeScalars[...]
        if leading { scalars = scalars.drop(while: isTrimmed) }
        if trailing { while let last = scalars.last, isTrimmed(last) { scalars.removeLast() } }
        return .string(String(String.UnicodeScalarView(scalars)))
    }

    private static let whitespace: Set<Unicode.Scalar> = [
        "\0", " ", "\t", "\n", "\u{B}", "\u{C}", "\r", "\u{A0}", "\u{1680}", "\u{2000}", "\u{2001}", "\u{2002}",
        "\u{2003}", "\u{2004}",
        "\u{2005}", "\u{2006}", "\u{2007}", "\u{2008}", "\u{2009}", "\u{200A}",
    ]

    private static func replace(_ name: String, _ arguments: NamedOperator.Arguments, all: Bool) throws(QueryError)
        -> Value?
    {
        var texts: [String] = []
        var hasNull = false
        for (index, key) in ["input", "find", "replacement"].enumerated() {
            if arguments[key].isNullish { hasNull = true; continue }
            guard case .string(let text)? = arguments[key] else {
                throw QueryError(
                    code: 51746 - index,
                    message: "\(name) requires that '\(key)' be a string, found: \(arguments[key] ?? .null)")
            }
            texts.append(text)
        }
        if hasNull { return .null }
        let (input, find, replacement) = (texts[0], texts[1], texts[2])
        if find.isEmpty {
            guard all else { return .string(replacement + input) }
            return .string(input.unicodeScalars.reduce(into: replacement) { $0 += String($1) + replacement })
        }
        let parts = try split(input, by: find)
        let (added, overflow) = parts.count.multipliedReportingOverflow(by: replacement.utf8.count)
        guard !overflow, input.utf8.count + added <= ComputedBounds.bounds.maximumBytes else {
            throw QueryError(code: 10334, message: "\(name) would make too long a string")
        }
        guard all else {
            return .string(
                parts.count == 1 ? input : parts[0] + replacement + parts.dropFirst().joined(separator: find))
        }
        return .string(parts.joined(separator: replacement))
    }

    private static func regex(_ name: String, _ arguments: NamedOperator.Arguments) throws(QueryError) -> (
        String, any CompiledRegex
    )? {
        if arguments["input"].isNullish || arguments["regex"].isNullish { return nil }
        guard case .string(let text)? = arguments["input"] else {
            throw QueryError(code: 51104, message: "\(name) needs 'input' to be of type string")
        }
        var expression: RegularExpression
        switch arguments["regex"] {
        case .string(let pattern)?: expression = RegularExpression(pattern)
        case .regex(let given)?: expression = given
        default: throw QueryError(code: 51105, message: "\(name) needs 'regex' to be of type string or regex")
        }
        if !arguments["options"].isNullish {
            guard case .string(let options)? = arguments["options"] else {
                throw QueryError(code: 51106, message: "\(name) needs 'options' to be of type string")
            }
            guard expression.options.isEmpty else {
                throw QueryError(
                    code: 51107, message: "\(name): found regex options specified in both 'regex' and 'options' fields")
            }
            expression.options = options
        }
        do throws(QueryError) {
            return (text, try RegexEngine.compile(expression))
        } catch  where error.code == 51091 {
            throw QueryError(code: 51111, message: "Invalid Regex in \(name): \(error.message)")
        }
    }
}
