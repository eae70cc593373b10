/// The parameters of connections, and the limits of connections and the pool.
public struct PostgresConfiguration: Sendable {
    /// `postgres://user:password@host:port/database?…`, or libpq's `host=… dbname=…`; passed to libpq unchanged. TLS is configured
    /// by its parameters: `sslmode=verify-full` and `sslrootcert=FILE`, `sslcert=FILE` and `sslkey=FILE` for a client's
    /// certificate.
    public var url: String
    /// The password for a URL that has none.
    public var password: String?
    /// The number of connections of a pool.
    public var connections = 4
    /// The time limit for one attempt to connect and log in.
    public var connectTimeout = Duration.seconds(5)
    /// The server ends a statement that takes longer; `nil` leaves the server's setting.
    public var statementTimeout: Duration? = .seconds(30)
    /// The connection is closed if the server doesn't answer the oldest statement for this long; `nil` waits for ever.
    public var answerTimeout: Duration? = .seconds(45)
    /// How long a caller waits for a connection of the pool.
    public var leaseTimeout = Duration.seconds(10)
    /// How many callers may wait for a connection; the next one is refused at once.
    public var maximumWaiters = 10_000
    /// How many single statements of different callers may be in flight on one connection when none is idle.
    public var maximumSharedStatements = 32
    /// The number of prepared statements that are kept per connection; 0 prepares none.
    public var statementCacheSize = 256
    /// The name that `pg_stat_activity` shows.
    public var applicationName = "partita"
    /// The settings of each session, e.g. `["lock_timeout": "500ms"]`.
    public var settings: [String: String] = [:]

    /// Called with each new connection of a pool before the pool uses it; if it throws, the connection is closed, and another one is tried.
    public var prepare: (@Sendable (PostgresConnection) async throws -> Void)?

    /// The name of the setting with the URL; the log names it if the URL is the likely cause of a failure.
    public var setting: String?

    /// The shortages of all connections that use this configuration.
    let shortages = Shortages()

    public init(url: String) { self.url = url }

    /// Why libpq can never connect with a URL, and how to correct it; `nil` if there is no such reason. The text quotes nothing of
    /// the URL.
    public static func problem(withURL url: String) -> String? {
        if url.isEmpty { return "must not be empty" }
        do {
            return try ConnectionParameters(PostgresConfiguration(url: url)).problem
        } catch {
            return
                "must be postgres://user:password@host:port/database; in a user or password, / ? # @ : and % are written %2F %3F %23 %40 %3A %25"
        }
    }

    /// Whether a URL has a password; false where it isn't a URL.
    public static func hasPassword(inURL url: String) -> Bool {
        (try? ConnectionParameters(PostgresConfiguration(url: url)).hasPassword) ?? false
    }

    /// The parameters of a URL, in whichever form it is, for the argument of one of Postgres' programs, where other users of the machine can see
    /// them; and those that they must not see, by their keywords: `password` for the variable `PGPASSWORD`, and others, such as
    /// `sslpassword`, for a connection service file, since no variable passes them.
    /// - Throws: `PostgresError` when it isn't a URL.
    public static func programParameters(
        ofURL url: String
    ) throws(PostgresError) -> (parameters: String, secrets: [String: String]) {
        try ConnectionParameters.split(url)
    }

    /// The files with certificates and keys that a URL names.
    /// - Throws: `PostgresError` when it isn't a URL.
    public static func files(inURL url: String) throws(PostgresError) -> [String] {
        try ConnectionParameters(PostgresConfiguration(url: url)).files
    }
}
