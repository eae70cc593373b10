import Glibc

/// Why a dump can't be read or written.
public struct DumpError: Error, Sendable, CustomStringConvertible {
    /// Kinds of failure. A struct, so that a new kind breaks no `switch`.
    public struct Code: Hashable, Sendable, CustomStringConvertible {
        private enum Base: String { case noDump, badFile, badMetadata, alreadyImported, notWritable }
        private let base: Base
        private init(_ base: Base) { self.base = base }

        /// The folder has no collection that was asked for.
        public static let noDump = Code(.noDump)
        /// A file can't be read, or isn't what its name says.
        public static let badFile = Code(.badFile)
        /// A `.metadata.json` can't be understood.
        public static let badMetadata = Code(.badMetadata)
        /// The same file was imported to the end before.
        public static let alreadyImported = Code(.alreadyImported)
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

    /// Of the last call of the C library, about a file.
    static func system(_ code: Code, _ what: String, _ path: String) -> DumpError {
        DumpError(code, "\(what) \(path): \(String(cString: strerror(errno)))")
    }
}
