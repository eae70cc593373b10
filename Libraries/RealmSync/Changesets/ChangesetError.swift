/// Why bytes aren't a changeset.
public struct ChangesetError: Error, Hashable, Sendable, CustomStringConvertible {
    /// The kind of error; not an enumeration, so that new kinds don't break a caller's `switch`.
    public struct Code: Hashable, Sendable, CustomStringConvertible {
        private enum Base: String {
            case truncated, badInteger, unknownInstruction, unknownType, badString, badPath, badValue, tooLarge
        }
        private let base: Base

        /// It ends inside an instruction.
        public static let truncated = Code(base: .truncated)
        /// An integer is too large for its place, or has too many bytes.
        public static let badInteger = Code(base: .badInteger)
        /// An instruction has an unknown number.
        public static let unknownInstruction = Code(base: .unknownInstruction)
        /// A type of a payload, key, table, column or collection is unknown, or isn't allowed at its place.
        public static let unknownType = Code(base: .unknownType)
        /// An interned string isn't in the table, is there already, or comes out of order.
        public static let badString = Code(base: .badString)
        /// A path doesn't fit its instruction.
        public static let badPath = Code(base: .badPath)
        /// A value is outside of its range.
        public static let badValue = Code(base: .badValue)
        /// It has more bytes, instructions, strings or path elements than the limit.
        public static let tooLarge = Code(base: .tooLarge)

        public var description: String { base.rawValue }
    }

    /// What kind of error it is.
    public let code: Code
    /// The byte at which it was found.
    public let offset: Int
    /// The error in one sentence, without contents of the changeset.
    public let message: String

    public init(_ code: Code, at offset: Int, _ message: String) {
        self.code = code
        self.offset = offset
        self.message = message
    }

    public var description: String { "\(message) (\(code) at byte \(offset))" }
}
