/// What is wrong with a configuration: all problems that were found, not only the first.
public struct ConfigurationError: Error, Sendable, CustomStringConvertible {
    /// What kind of problem it is.
    public struct Code: Hashable, Sendable {
        private enum Value { case unreadableFile, malformedFile, unknownKey, missing, invalid }
        private let value: Value

        /// The file can't be read.
        public static let unreadableFile = Code(value: .unreadableFile)
        /// The file's text is neither JSON nor lines of `key = value`.
        public static let malformedFile = Code(value: .malformedFile)
        /// The file holds a key that the program doesn't know.
        public static let unknownKey = Code(value: .unknownKey)
        /// A key that must be set isn't.
        public static let missing = Code(value: .missing)
        /// A value has the wrong form or is out of range.
        public static let invalid = Code(value: .invalid)
    }

    /// One thing that is wrong.
    public struct Problem: Sendable, Hashable {
        /// What kind of problem it is.
        public let code: Code
        /// The key that has the problem; `nil` for a problem of the file.
        public let key: String?
        /// What is wrong, and what a correct value would be. Never contains a secret.
        public let message: String

        init(_ code: Code, key: String? = nil, _ message: String) {
            self.code = code
            self.key = key
            self.message = message
        }
    }

    /// At least one.
    public let problems: [Problem]

    init(_ problems: [Problem]) { self.problems = problems }

    /// Makes an error for a value that is valid by itself but contradicts others.
    public init(key: String, _ message: String) { problems = [Problem(.invalid, key: key, message)] }

    /// All problems in one line.
    public var description: String {
        problems.map { problem in (problem.key.map { "\($0): " } ?? "") + problem.message }.joined(separator: "; ")
    }
}
