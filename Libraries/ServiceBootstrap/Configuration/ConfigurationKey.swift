/// A configuration key: its name, meaning, default and range.
///
/// A key is declared once as a constant, listed among the service's keys, and used to read its value:
///
/// ```swift
/// static let batch = ConfigurationKey.int("relay.batch", default: 500, range: 1...10_000, "Events per produce.")
/// let batch = configuration[Self.batch]
/// ```
public struct ConfigurationKey<Value: Sendable>: Sendable {
    /// The key without its value's type.
    public let description: ConfigurationKeyDescription
    let defaultValue: Value?
    let parse: @Sendable (String) throws(InvalidText) -> Value

    init(
        _ name: String, type: String, defaultValue: Value?, defaultText: String?, range: String? = nil,
        isSecret: Bool = false, _ documentation: String,
        parse: @escaping @Sendable (String) throws(InvalidText) -> Value
    ) {
        self.defaultValue = defaultValue
        self.parse = parse
        description = ConfigurationKeyDescription(
            name: name, type: type, documentation: documentation, defaultText: defaultText, range: range,
            isRequired: defaultValue == nil, isSecret: isSecret,
            read: { (text: String?) throws(InvalidText) in
                if let text { return try parse(text) }
                return defaultValue
            })
    }

    /// The same key, but optional and without a default: its value is `nil` when it isn't set.
    public var optional: ConfigurationKey<Value?> {
        let parse = self.parse
        let old = description
        return ConfigurationKey<Value?>(
            old.name, type: old.type, defaultValue: .some(nil), defaultText: nil, range: old.range,
            isSecret: old.isSecret, old.documentation,
            parse: { (text: String) throws(InvalidText) in try parse(text) })
    }
}

/// A key without its value's type, for lists of keys and for help texts.
public struct ConfigurationKeyDescription: Sendable {
    /// The name in the file, such as `postgres.url`.
    public let name: String
    /// What a value looks like: `int`, `duration`, …
    public let type: String
    /// What it means.
    public let documentation: String
    /// The default in the notation of the file; `nil` when there is none.
    public let defaultText: String?
    /// The allowed values; `nil` when all are.
    public let range: String?
    /// Whether the program doesn't start without it.
    public let isRequired: Bool
    /// Whether its value must not be shown.
    public let isSecret: Bool
    /// Parses the configured text, or returns the default for `nil`; `nil` when there is no default.
    let read: @Sendable (String?) throws(InvalidText) -> (any Sendable)?

    /// The name in the environment: `postgres.url` is `PARTITA_POSTGRES_URL`, `relay.batchSize` is
    /// `PARTITA_RELAY_BATCH_SIZE`.
    public var environmentName: String {
        var result = "PARTITA_"
        var previous: Character = "_"
        for character in name {
            if character == "." || character == "-" {
                result += "_"
            } else {
                if character.isUppercase, previous.isLowercase || previous.isNumber { result += "_" }
                result += character.uppercased()
            }
            previous = character
        }
        return result
    }
}

/// What is wrong with a value's text, phrased as the end of a sentence: `must be …`.
struct InvalidText: Error {
    let message: String

    init(_ message: String) { self.message = message }
}
