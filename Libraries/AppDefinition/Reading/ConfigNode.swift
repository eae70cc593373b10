import DocumentModel

/// A value inside a JSON file of the app, with its place. Reading a missing or wrong value from it logs a problem.
struct ConfigNode {
    let value: Value
    let file: String
    let pointer: String
    let log: ProblemLog

    func problem(
        _ code: DefinitionProblem.Code, severity: DefinitionProblem.Severity = .error, at key: String? = nil,
        _ message: String
    ) {
        let place = key.map { pointer + "/" + JSONPointer.escape($0) } ?? pointer
        log.add(code, severity: severity, file: file, pointer: place, message)
    }

    /// The field of an object; `nil` when it is absent or null.
    func child(_ key: String) -> ConfigNode? {
        guard case .document(let document) = value else {
            log.notAnObject(value, file: file, pointer: pointer)
            return nil
        }
        log.asked(for: key, of: document, file: file, pointer: pointer)
        guard let child = document[key] else { return nil }
        if case .null = child { return nil }
        return ConfigNode(value: child, file: file, pointer: pointer + "/" + JSONPointer.escape(key), log: log)
    }

    /// The node at the end of a path of fields; `nil` when one is absent.
    func child(path: String...) -> ConfigNode? {
        path.reduce(self as ConfigNode?) { $0?.child($1) }
    }

    /// The elements of an array.
    var elements: [ConfigNode] {
        guard case .array(let items) = value else {
            problem(.fieldType, "is \(value.typeName), but must be an array")
            return []
        }
        return items.enumerated().map { ConfigNode(value: $1, file: file, pointer: "\(pointer)/\($0)", log: log) }
    }

    /// The fields of an object.
    var entries: [(key: String, node: ConfigNode)] {
        guard case .document(let document) = value else {
            problem(.fieldType, "is \(value.typeName), but must be an object: write {…}")
            return []
        }
        return document.fields.map { field in
            let inner = pointer + "/" + JSONPointer.escape(field.key)
            return (field.key, ConfigNode(value: field.value, file: file, pointer: inner, log: log))
        }
    }

    /// This node's string; `nil` when it isn't one, which logs a problem.
    var text: String? {
        if case .string(let text) = value { return text }
        problem(.fieldType, "is \(value.typeName), but must be a string")
        return nil
    }

    func string(_ key: String) -> String? { child(key)?.text }

    /// A string that must be present and not empty.
    func required(_ key: String) -> String? {
        guard let child = child(key) else {
            problem(.fieldMissing, "\(key) is missing: add it")
            return nil
        }
        guard let text = child.text else { return nil }
        if text.isEmpty { child.problem(.fieldValue, "is empty: fill it in") }
        return text.isEmpty ? nil : text
    }

    func bool(_ key: String, default fallback: Bool = false) -> Bool {
        guard let child = child(key) else { return fallback }
        if case .bool(let flag) = child.value { return flag }
        if case .string("") = child.value {
            // The vendor's interface wrote it for switches that were never touched.
            child.problem(.fieldType, severity: .warning, "is an empty string, which is read as \(fallback)")
            return fallback
        }
        child.problem(.fieldType, "is \(child.value.typeName), but must be true or false")
        return fallback
    }

    /// Logs settings of a wrong type that are read elsewhere.
    func check(flags: [String], strings: [String]) {
        for key in flags { _ = bool(key) }
        for key in strings { _ = string(key) }
    }

    /// Logs fields with unknown names.
    func checkFields(_ known: [String]) {
        for (key, entry) in entries where !known.contains(key) {
            entry.problem(.fieldValue, "\(key) is unknown; the known fields are \(known.joined(separator: ", "))")
        }
    }

    func integer(_ key: String, default fallback: Int, in range: ClosedRange<Int>) -> Int {
        guard let child = child(key) else { return fallback }
        guard let number = child.value.doubleValue, let whole = Int(exactly: number), range.contains(whole) else {
            child.problem(.fieldValue, "must be a whole number from \(range.lowerBound) to \(range.upperBound)")
            return fallback
        }
        return whole
    }

    func strings(_ key: String) -> [String] { child(key)?.elements.compactMap(\.text) ?? [] }

    /// An object; empty when it is absent.
    func document(_ key: String) -> Document { optionalDocument(key) ?? Document() }

    func optionalDocument(_ key: String) -> Document? {
        guard let child = child(key) else { return nil }
        if case .document(let document) = child.value { return document }
        child.problem(.fieldType, "is \(child.value.typeName), but must be an object")
        return nil
    }

    /// A rule expression; `nil` when it is absent, and one that denies when it is malformed.
    func rule(_ key: String) -> RuleExpression? {
        guard let child = child(key) else { return nil }
        do throws(RuleSyntaxError) {
            let rule = try RuleExpression(child.value)
            child.warnOfOperatorLikeFields(child.value, at: child.pointer)
            return rule
        } catch {
            for issue in error.issues {
                log.add(issue.code, file: file, pointer: child.pointer + issue.pointer, issue.message)
            }
            return .never
        }
    }

    /// Warns of fields such as `!=`, which look like operators but are names of fields, which no document has.
    private func warnOfOperatorLikeFields(_ value: Value, at pointer: String) {
        switch value {
        case .document(let document):
            for field in document.fields {
                let place = pointer + "/" + JSONPointer.escape(field.key)
                if !field.key.isEmpty, field.key.allSatisfy({ "!=<>&|~".contains($0) }) {
                    log.add(
                        .ruleOperatorUnknown, severity: .warning, file: file, pointer: place,
                        "'\(field.key)' is no operator but the name of a field, which no document has, so that the rule never holds: use %ne, %gt and so on"
                    )
                }
                warnOfOperatorLikeFields(field.value, at: place)
            }
        case .array(let items):
            for (index, item) in items.enumerated() { warnOfOperatorLikeFields(item, at: "\(pointer)/\(index)") }
        default: break
        }
    }
}
