import Texts

/// The values of all keys of a program. The environment takes precedence over the file, and the file over the defaults.
///
/// All values are read and checked when it is made; reading one from it can't fail afterwards.
public struct Configuration: Sendable {
    /// Where a value comes from.
    public enum Source: String, Sendable {
        /// The key's default.
        case `default`
        /// The configuration file.
        case file
        /// The environment.
        case environment
    }

    /// The keys of the program, in the order of their declaration.
    public let keys: [ConfigurationKeyDescription]
    private var values: [String: any Sendable] = [:]
    private var texts: [String: String] = [:]
    private var sources: [String: Source] = [:]

    /// Reads and checks all values.
    /// - Parameters:
    ///   - keys: All keys of the program. Their names must be unique.
    ///   - file: The path of the configuration file, if there is one.
    ///   - environment: The environment's variables. Those that belong to no key are ignored, but see `misspelled`.
    /// - Throws: `ConfigurationError` with all problems.
    public init(
        keys: [ConfigurationKeyDescription], file: String? = nil, environment: [String: String]
    ) throws(ConfigurationError) {
        let fileValues: [String: String]
        if let file { fileValues = try ConfigurationFile.read(file) } else { fileValues = [:] }
        try self.init(keys: keys, fileValues: fileValues, environment: environment)
    }

    /// Checks values that were read elsewhere, for tests and for programs that start services within themselves.
    public init(
        keys: [ConfigurationKeyDescription], fileValues: [String: String], environment: [String: String] = [:]
    ) throws(ConfigurationError) {
        precondition(Set(keys.map(\.name)).count == keys.count, "two configuration keys of one name")
        self.keys = keys
        let known = Set(keys.map(\.name))
        var problems = fileValues.keys.filter { !known.contains($0) }.sorted().map { name in
            ConfigurationError.Problem(.unknownKey, key: name, "is unknown" + Self.suggestion(for: name, among: known))
        }
        for key in keys {
            var source = Source.default
            var text: String?
            var variable = key.environmentName
            do {
                if key.isSecret {
                    if let found = try SecretFile.value(of: variable, in: environment) {
                        (text, variable, source) = (found.text, found.place, .environment)
                    }
                } else if let value = environment[variable] {
                    (text, source) = (value, .environment)
                }
            } catch {
                problems.append(.init(.invalid, key: key.name, error.message))
                continue
            }
            if source == .default, let value = fileValues[key.name] { (text, source) = (value, .file) }
            do {
                guard let value = try key.read(text) else {
                    problems.append(.init(.missing, key: key.name, "must be set, here or as \(key.environmentName)"))
                    continue
                }
                values[key.name] = value
                texts[key.name] = text ?? key.defaultText
                sources[key.name] = source
            } catch {
                let place = source == .environment ? " (from \(variable))" : ""
                let value = key.isSecret ? "" : ", not \"\(text ?? "")\""
                problems.append(.init(.invalid, key: key.name, "\(error.message)\(value)\(place)"))
            }
        }
        if !problems.isEmpty { throw ConfigurationError(problems) }
        let variables = keys.map(\.environmentName)
        for name in environment.keys.sorted() where name.hasPrefix("PARTITA_") && !variables.contains(name) {
            // Only a secret is read from a file.
            let stem = name.hasSuffix("_FILE") ? String(name.dropLast(5)) : name
            let unread = keys.first { !$0.isSecret && $0.environmentName.hasSameBytes(as: stem) }?.environmentName
            if let meant = unread ?? variables.first(where: name.isAlmost) { misspelled.append((name, meant)) }
        }
    }

    /// Variables of the environment that belong to no key but resemble one that does, or name a file for one that is no secret, with
    /// the variable that was probably meant.
    public private(set) var misspelled: [(variable: String, meant: String)] = []

    /// The value of a key. The key must be among `keys`.
    public subscript<Value>(key: ConfigurationKey<Value>) -> Value {
        guard let value = values[key.description.name] as? Value else {
            preconditionFailure("\(key.description.name) isn't among the program's configuration keys")
        }
        return value
    }

    /// Checks that a duration isn't longer than another, or than half of it.
    /// - Throws: `ConfigurationError` of the first key.
    public func check(
        _ key: ConfigurationKey<Duration>, isAtMostHalf: Bool = false, of other: ConfigurationKey<Duration>
    ) throws(ConfigurationError) {
        guard self[key] > self[other] / (isAtMostHalf ? 2 : 1) else { return }
        let limit = "\(other.description.name), which is \(DurationText.print(self[other]))"
        throw ConfigurationError(
            key: key.description.name,
            "must be at most \(isAtMostHalf ? "half of " : "")\(limit), not \(DurationText.print(self[key]))")
    }

    /// Where the value of a key comes from; `nil` for a key that isn't among `keys`.
    public func source(of name: String) -> Source? { sources[name] }

    /// All values that differ from their defaults, as text, secrets hidden: for the log at the start.
    public var redacted: [String: String] {
        var result: [String: String] = [:]
        for key in keys where sources[key.name] != .default {
            result[key.name] = key.isSecret ? "<hidden>" : texts[key.name]
        }
        return result
    }

    private static func suggestion(for name: String, among known: Set<String>) -> String {
        let folded = { (text: String) in text.lowercased().filter { $0.isLetter || $0.isNumber } }
        guard let match = known.sorted().first(where: { folded($0) == folded(name) }) else { return "" }
        return "; did you mean \(match)?"
    }
}
