import AppDefinition
import DocumentModel

/// A filter taken apart.
struct FilterParts {
    /// What the store looks for.
    private(set) var stored: Document = [:]
    /// What is evaluated on what the user sees.
    private(set) var rest: Document = [:]
    /// What `stored` names.
    private(set) var paths = NamedPaths.none
    private var storedClauses: [Value] = []
    private var otherClauses: [Value] = []

    init(_ filter: Document) {
        take(filter)
        stored = Self.all(storedClauses)
        rest = Self.all(otherClauses)
        // Only the store can search its texts; whoever asks for that must be able to read all.
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
                // An error is an answer too.
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

    /// Whether a condition has a regular expression that gives up on some texts: one that may go back and try again. Which those are
    /// is up to whoever writes it.
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

    /// Whether a pattern has more than characters, their classes and anchors.
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
