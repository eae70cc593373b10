/// Why two sides can't be merged.
public struct TransformError: Error, Hashable, Sendable, CustomStringConvertible {
    /// The kind of error; not an enumeration, so that new kinds don't break a caller's `switch`.
    public struct Code: Hashable, Sendable, CustomStringConvertible {
        private enum Base: String { case schemaMismatch, inconsistentList, inconsistentPath, tooMuchWork }
        private let base: Base

        /// Both sides add a table or a column, and not the same one.
        public static let schemaMismatch = Code(base: .schemaMismatch)
        /// The sides disagree about a list's size, or an index is beyond it: their replicas have diverged.
        public static let inconsistentList = Code(base: .inconsistentList)
        /// One side takes a value for a list, and the other one for a dictionary or an object.
        public static let inconsistentPath = Code(base: .inconsistentPath)
        /// The merge needs more work than the budget.
        public static let tooMuchWork = Code(base: .tooMuchWork)

        public var description: String { base.rawValue }
    }

    /// What kind of error it is.
    public let code: Code
    /// The error in one sentence, without contents of the changesets.
    public let message: String

    public init(_ code: Code, _ message: String) {
        self.code = code
        self.message = message
    }

    public var description: String { "\(message) (\(code))" }
}
