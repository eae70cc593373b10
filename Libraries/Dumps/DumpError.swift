import Glibc

/// Why a dump can't be read or written.
public struct DumpError: Error, Sendable, CustomStringConvertible {
    /// The kinds of failure. Not an enumeration, so that a new kind doesn't break a `switch`.
    public struct Code: Hashable, Sendable, CustomStringConvertible {
        private enum Base: String { case noDump, badFile, badMetadata, alreadyImported, badName, notWritable }
        private let base: Base
        private init(_ base: Base) { self.base = base }

        /// The folder has none of the requested collections.
        public static let noDump = Code(.noDump)
        /// A file can't be read, or doesn't have the format of its name.
        public static let badFile = Code(.badFile)
        /// A `.metadata.json` is malformed.
        public static let badMetadata = Code(.badMetadata)
        /// The same file was already imported completely.
        public static let alreadyImported = Code(.alreadyImported)
        /// A collection's name is one that no document store here takes.
        public static let badName = Code(.badName)
        /// A file can't be written.
        public static let notWritable = Code(.notWritable)

        public var description: String { base.rawValue }
    }

    public var code: Code
    public var message: String

    public init(_ code: Code, _ message: String) {
        self.code = code
        self.message = message
    }

    public var description: String { message }

    /// Makes an error from the last failed call of the C library, about a file.
    static func system(_ code: Code, _ what: String, _ path: String) -> DumpError {
        DumpError(code, "\(what) \(path): \(String(cString: strerror(errno)))")
    }
}
