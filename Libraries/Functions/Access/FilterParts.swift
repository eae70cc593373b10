import AppDefinition
import DocumentModel

/// A filter, split into what the store evaluates and what is evaluated on the user's view.
struct FilterParts {
    /// The filter that the store evaluates.
    private(set) var stored: Document = [:]
    /// The filter that is evaluated on what the user sees.
    private(set) var rest: Document = [:]
    /// The field paths that `stored` names.
    private(set) var paths = NamedPaths.none
    private var storedClauses: [Value] = []
    private var otherClauses: [Value] = []

    init(_ filter: Document) {
        take(filter)
        stored = Self.all(storedClauses)
        rest = Self.all(otherClauses)
        // Only the store can search text. A user who searches text needs the right to read the whole document.
        paths = stored.isEmpty ? .none : NamedPaths(filter: stored)
    }

    private mutating func take(_ filter: Document) {
        for field in filter.fields {
            if field.key == "$and", let clauses = field.value.arrayValue,
                clauses.allSatisfy({ $0.documentValue != nil }),
                !clauses.isEmpty
            {
                for clause in clauses { take(clause.documentValue ?? [:]) }
                continue
            }
            let clause = Document(fields: [field])
            if case .some = NamedPaths(filter: clause) {
                // Whether a condition fails would also reveal something about the document.
                if Self.mayFail(field.value) {
                    otherClauses.append(.document(clause))
                } else {
                    storedClauses.append(.document(clause))
                }
            } else if Self.hasText(field.key, field.value) {
                storedClauses.append(.document(clause))
            } else {
                otherClauses.append(.document(clause))
            }
        }
    }

    /// Whether a condition has a regular expression that can fail on some texts because it backtracks too often. The author of the
    /// query controls on which ones.
    private static func mayFail(_ condition: Value) -> Bool {
        switch condition {
        case .regex(let regex): return mayGoBack(regex.pattern)
        case .array(let elements): return elements.contains(where: mayFail)
        case .document(let document):
            return document.fields.contains { field in
                if field.key == "$regex", let pattern = field.value.stringValue { return mayGoBack(pattern) }
                return mayFail(field.value)
            }
        default: return false
        }
    }

    /// Whether a pattern has anything besides characters, character classes and anchors.
    private static func mayGoBack(_ pattern: String) -> Bool {
        var isEscaped = false
        for byte in pattern.utf8 {
            if isEscaped {
                isEscaped = false
                let isLetter = (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(byte | 0x20)
                let isDigit = (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte)
                if isDigit || isLetter && !"dDwWsSbB".utf8.contains(byte) { return true }
            } else if byte == UInt8(ascii: "\\") {
                isEscaped = true
            } else if "*+?{(|".utf8.contains(byte) {
                return true
            }
        }
        return false
    }

    private static func hasText(_ key: String, _ value: Value) -> Bool {
        if key == "$text" { return true }
        guard ["$and", "$or", "$nor"].contains(key) else { return false }
        return (value.arrayValue ?? []).contains { clause in
            clause.documentValue?.fields.contains { hasText($0.key, $0.value) } ?? false
        }
    }

    private static func all(_ clauses: [Value]) -> Document {
        clauses.count == 1 ? clauses[0].documentValue ?? [:] : clauses.isEmpty ? [:] : ["$and": .array(clauses)]
    }
}
