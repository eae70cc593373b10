/// How a database file is opened.
public struct SQLiteConfiguration: Sendable {
    /// What a commit waits for.
    public enum Synchronous: String, Sendable {
        /// A crash of the machine may lose the last commits, and never damages the file.
        case normal = "NORMAL"
        /// A commit is on the disk.
        case full = "FULL"
    }

    /// A file, made if it isn't there, or `:memory:`.
    public var path: String
    public var synchronous = Synchronous.full
    /// How long a statement waits for other connections to the file.
    public var busyTimeout = Duration.seconds(5)
    public var isReadOnly = false
    /// Prepared statements that are kept.
    public var statementCacheSize = 128

    public init(path: String) { self.path = path }
}
