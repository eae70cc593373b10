/// An error of the sync engine.
public struct SyncEngineError: Error, Hashable, Sendable, CustomStringConvertible {
    /// What kind of error it is.
    public struct Code: Hashable, Sendable {
        private enum Name: String { case badFieldClocks }
        private let name: Name

        /// Stored field clocks can't be read.
        public static let badFieldClocks = Code(name: .badFieldClocks)

        private init(name: Name) { self.name = name }
    }

    /// What kind of error it is.
    public var code: Code
    /// A sentence for people.
    public var message: String

    public init(code: Code, message: String) {
        self.code = code
        self.message = message
    }

    public var description: String { message }
}
