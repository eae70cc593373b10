import Foundation

/// The text of a configuration file: a JSON object, or lines of `key = value`.
///
/// In JSON, objects within objects make dotted keys: `{"postgres": {"url": "…"}}` is `postgres.url`. In the other format, a line
/// that begins with `#` is a comment, and a value may be in double quotes.
enum ConfigurationFile {
    static func read(_ path: String) throws(ConfigurationError) -> [String: String] {
        do {
            return try parse(String(contentsOfFile: path, encoding: .utf8), path)
        } catch let error as ConfigurationError {
            throw error
        } catch {
            let reason = (error as NSError).localizedFailureReason ?? (error as NSError).localizedDescription
            throw ConfigurationError([.init(.unreadableFile, "can't read \(path): \(reason)")])
        }
    }

    static func parse(_ text: String, _ name: String) throws(ConfigurationError) -> [String: String] {
        if text.first(where: { !$0.isWhitespace }) == "{" { return try parseJSON(text, name) }
        return try parseLines(text, name)
    }

    private static func parseLines(_ text: String, _ name: String) throws(ConfigurationError) -> [String: String] {
        var values: [String: String] = [:]
        var problems: [ConfigurationError.Problem] = []
        for (index, line) in text.split(omittingEmptySubsequences: false, whereSeparator: \.isNewline).enumerated() {
            let line = line.trimmingCharacters(in: .whitespaces)
            if line.isEmpty || line.hasPrefix("#") { continue }
            let place = "\(name), line \(index + 1)"
            guard let equals = line.firstIndex(of: "=") else {
                problems.append(.init(.malformedFile, "\(place): must be key = value"))
                continue
            }
            let key = line[..<equals].trimmingCharacters(in: .whitespaces)
            let value = line[line.index(after: equals)...].trimmingCharacters(in: .whitespaces)
            let isQuoted = value.count >= 2 && value.hasPrefix("\"") && value.hasSuffix("\"")
            if values.updateValue(isQuoted ? String(value.dropFirst().dropLast()) : value, forKey: key) != nil {
                problems.append(.init(.malformedFile, key: key, "\(place): is set a second time"))
            }
        }
        if !problems.isEmpty { throw ConfigurationError(problems) }
        return values
    }

    private static func parseJSON(_ text: String, _ name: String) throws(ConfigurationError) -> [String: String] {
        let object: Any
        do { object = try JSONSerialization.jsonObject(with: Data(text.utf8)) } catch {
            let reason = (error as NSError).userInfo["NSDebugDescription"] as? String ?? "malformed"
            throw ConfigurationError([.init(.malformedFile, "\(name) is not valid JSON: \(reason)")])
        }
        var values: [String: String] = [:]
        var problems: [ConfigurationError.Problem] = []
        flatten(object, "", &values, &problems)
        if !problems.isEmpty { throw ConfigurationError(problems) }
        return values
    }

    private static func flatten(
        _ value: Any, _ key: String, _ values: inout [String: String], _ problems: inout [ConfigurationError.Problem]
    ) {
        switch value {
        case let object as [String: Any]:
            for (name, value) in object.sorted(by: { $0.key < $1.key }) {
                flatten(value, key.isEmpty ? name : "\(key).\(name)", &values, &problems)
            }
        case let array as [Any]:
            let elements = array.compactMap(scalarText)
            guard elements.count == array.count, !elements.contains(where: { $0.contains(",") }) else {
                problems.append(.init(.malformedFile, key: key, "an array may hold only texts without commas"))
                return
            }
            set(elements.joined(separator: ","), key, &values, &problems)
        default:
            guard let text = scalarText(value) else {
                problems.append(.init(.malformedFile, key: key, "must be a text, a number, true, false or an array"))
                return
            }
            set(text, key, &values, &problems)
        }
    }

    private static func set(
        _ text: String, _ key: String, _ values: inout [String: String],
        _ problems: inout [ConfigurationError.Problem]
    ) {
        if values.updateValue(text, forKey: key) != nil {
            problems.append(.init(.malformedFile, key: key, "is set a second time"))
        }
    }

    private static func scalarText(_ value: Any) -> String? {
        switch value {
        case let text as String: text
        case let number as NSNumber:
            // To Foundation a boolean is a number; only its type's name differs.
            CFBooleanIdentity.isBoolean(number) ? (number.boolValue ? "true" : "false") : number.stringValue
        default: nil
        }
    }
}

private enum CFBooleanIdentity {
    static func isBoolean(_ number: NSNumber) -> Bool { String(cString: number.objCType) == "c" }
}
