/// How a database file is opened.
public struct SQLiteConfiguration: Sendable {
    /// The durability of a commit.
    public enum Synchronous: String, Sendable {
        /// A crash of the machine may lose the last commits, but never damages the file.
        case normal = "NORMAL"
        /// A commit is written to the disk.
        case full = "FULL"
    }

    /// The path of the file, which is created if it doesn't exist, or `:memory:`.
    public var path: String
    public var synchronous = Synchronous.full
    /// How long a statement waits for other connections to the file.
    public var busyTimeout = Duration.seconds(5)
    public var isReadOnly = false
    /// The maximum number of cached prepared statements.
    public var statementCacheSize = 128

    public init(path: String) { self.path = path }
}
