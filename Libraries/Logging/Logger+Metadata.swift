extension Logger {
    /// The variable parts of an event, by dotted key: `["user.id": "…", "attempt": .stringConvertible(3)]`.
    public typealias Metadata = [String: MetadataValue]

    /// One value of an event's metadata.
    public enum MetadataValue: Sendable, Equatable {
        /// Text.
        case string(String)
        /// A value that is turned into text only when the event is written. Integers, floating-point numbers and booleans keep
        /// their types in JSON.
        case stringConvertible(any CustomStringConvertible & Sendable)
        /// Nested values by key.
        case dictionary(Metadata)
        /// A list of values.
        case array([MetadataValue])

        /// Whether both have the same text.
        public static func == (left: MetadataValue, right: MetadataValue) -> Bool {
            switch (left, right) {
            case (.dictionary(let left), .dictionary(let right)): left == right
            case (.array(let left), .array(let right)): left == right
            case (.dictionary, _), (_, .dictionary), (.array, _), (_, .array): false
            default: left.description == right.description
            }
        }
    }

    /// The text of an event. Keep it constant and put variable parts into the metadata.
    public struct Message: Sendable, Equatable, ExpressibleByStringLiteral, ExpressibleByStringInterpolation,
        CustomStringConvertible
    {
        /// The text itself.
        public let description: String

        /// Makes a message from a literal, with or without interpolations.
        public init(stringLiteral value: String) { description = value }
    }
}

extension Logger.MetadataValue: ExpressibleByStringLiteral, ExpressibleByStringInterpolation,
    ExpressibleByArrayLiteral, ExpressibleByDictionaryLiteral, CustomStringConvertible
{
    /// Makes a `.string`.
    public init(stringLiteral value: String) { self = .string(value) }

    /// Makes an `.array`.
    public init(arrayLiteral elements: Logger.MetadataValue...) { self = .array(elements) }

    /// Makes a `.dictionary`; of equal keys the last one is used.
    public init(dictionaryLiteral elements: (String, Logger.MetadataValue)...) {
        self = .dictionary(Logger.Metadata(elements) { _, last in last })
    }

    /// The value as text, with the keys of a dictionary sorted.
    public var description: String {
        switch self {
        case .string(let text): text
        case .stringConvertible(let value): value.description
        case .dictionary(let values):
            "{" + values.sorted { $0.key < $1.key }.map { "\($0.key): \($0.value)" }.joined(separator: ", ") + "}"
        case .array(let values): "[" + values.map(\.description).joined(separator: ", ") + "]"
        }
    }
}
