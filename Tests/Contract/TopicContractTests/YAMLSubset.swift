import Foundation

/// As much of YAML as `Deploy/asyncapi.yaml` uses: block mappings, block and flow sequences of scalars, plain and quoted scalars,
/// folded text, comments on lines of their own.
indirect enum YAML: Equatable {
    case scalar(String)
    case list([YAML])
    case map([String: YAML])

    struct Malformed: Error { let line: Int }

    init(_ text: String) throws {
        var reader = Reader(text)
        self = try reader.block(indent: 0)
        if reader.position < reader.lines.count { throw Malformed(line: reader.lines[reader.position].number) }
    }

    subscript(keys: String...) -> YAML? {
        keys.reduce(Optional(self)) { value, key in
            if case .map(let map)? = value { map[key] } else { nil }
        }
    }

    var text: String? { if case .scalar(let text) = self { text } else { nil } }
    var texts: [String]? { if case .list(let list) = self { list.compactMap(\.text) } else { nil } }
    var map: [String: YAML]? { if case .map(let map) = self { map } else { nil } }

    private struct Reader {
        struct Line { let number: Int, indent: Int, text: Substring }
        let lines: [Line]
        var position = 0

        init(_ text: String) {
            lines = text.split(separator: "\n", omittingEmptySubsequences: false).enumerated().compactMap {
                index, line in
                let text = line.drop { $0 == " " }
                guard !text.isEmpty, !text.hasPrefix("#") else { return nil }
                return Line(number: index + 1, indent: line.count - text.count, text: text)
            }
        }

        mutating func block(indent: Int) throws -> YAML {
            var map: [String: YAML] = [:]
            while position < lines.count, lines[position].indent == indent {
                let line = lines[position]
                guard let colon = line.text.range(of: ":(?= |$)", options: .regularExpression) else {
                    throw Malformed(line: line.number)
                }
                position += 1
                let key = String(line.text[..<colon.lowerBound])
                let rest = line.text[colon.upperBound...].drop { $0 == " " }
                guard map[key] == nil else { throw Malformed(line: line.number) }
                map[key] = try value(rest, line)
            }
            return .map(map)
        }

        private mutating func value(_ rest: Substring, _ line: Line) throws -> YAML {
            if rest == ">-" {
                var folded: [Substring] = []
                while position < lines.count, lines[position].indent > line.indent {
                    folded.append(lines[position].text)
                    position += 1
                }
                return .scalar(folded.joined(separator: " "))
            }
            if rest.isEmpty {
                guard position < lines.count, lines[position].indent > line.indent else {
                    throw Malformed(line: line.number)
                }
                return try block(indent: lines[position].indent)
            }
            guard rest.hasPrefix("[") else { return .scalar(unquoted(rest)) }
            guard rest.hasSuffix("]") else { throw Malformed(line: line.number) }
            return .list(
                rest.dropFirst().dropLast().split(separator: ",").map { .scalar(unquoted($0.drop { $0 == " " })) })
        }

        private func unquoted(_ text: Substring) -> String {
            for quote in ["'", "\""] where text.count > 1 && text.hasPrefix(quote) && text.hasSuffix(quote) {
                return String(text.dropFirst().dropLast())
            }
            return String(text)
        }
    }
}
