/// Why an instruction can't be applied to a partition's objects. A client that receives it can't apply it either.
public struct ApplyError: Error, Hashable, Sendable, CustomStringConvertible {
    /// The kind of error; not an enumeration, so that new kinds don't break a caller's `switch`.
    public struct Code: Hashable, Sendable, CustomStringConvertible {
        private enum Base: String {
            case unknownTable, unknownProperty, schemaConflict, noObject, wrongType, badPlace, badSize, badText,
                tooMuchWork
        }
        private let base: Base

        /// There is no such class.
        public static let unknownTable = Code(base: .unknownTable)
        /// The class has no such property.
        public static let unknownProperty = Code(base: .unknownProperty)
        /// A class or property is there already and is another one.
        public static let schemaConflict = Code(base: .schemaConflict)
        /// There is no such object.
        public static let noObject = Code(base: .noObject)
        /// A value or an edit doesn't fit the property's type.
        public static let wrongType = Code(base: .wrongType)
        /// A path leads nowhere, or an index is beyond its list.
        public static let badPlace = Code(base: .badPlace)
        /// A list has another size than the instruction says.
        public static let badSize = Code(base: .badSize)
        /// The edits of one changeset move too many elements of large collections.
        public static let tooMuchWork = Code(base: .tooMuchWork)
        /// A text isn't UTF-8.
        public static let badText = Code(base: .badText)

        public var description: String { base.rawValue }
    }

    /// What kind of error it is.
    public let code: Code
    /// The error in one sentence, with names of the schema and without values.
    public let message: String

    init(_ code: Code, _ message: String) {
        self.code = code
        self.message = message
    }

    public var description: String { "\(message) (\(code))" }
}
