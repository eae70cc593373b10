/// How to connect, and the limits of connections and pool.
public struct PostgresConfiguration: Sendable {
    /// `postgres://user:password@host:port/database?…`, or libpq's `host=… dbname=…`; handed to libpq as it is. TLS is among its
    /// parameters: `sslmode=verify-full` and `sslrootcert=FILE`, `sslcert=FILE` and `sslkey=FILE` for a client's certificate.
    public var url: String
    /// For a URL that has none.
    public var password: String?
    /// Connections of a pool.
    public var connections = 4
    /// For one attempt to connect and log in.
    public var connectTimeout = Duration.seconds(5)
    /// The server ends a statement that takes longer; `nil` leaves the server's setting.
    public var statementTimeout: Duration? = .seconds(30)
    /// The connection is given up when the server doesn't answer the oldest statement for so long; `nil` waits for ever.
    public var answerTimeout: Duration? = .seconds(45)
    /// How long a caller waits for a connection of the pool.
    public var leaseTimeout = Duration.seconds(10)
    /// How many callers may wait for a connection; the next one is refused at once.
    public var maximumWaiters = 10_000
    /// How many single statements of different callers may be under way on one connection when none is idle.
    public var maximumSharedStatements = 32
    /// Prepared statements kept per connection; 0 prepares none.
    public var statementCacheSize = 256
    /// Shown in `pg_stat_activity`.
    public var applicationName = "partita"
    /// Settings of each session, e.g. `["lock_timeout": "500ms"]`.
    public var settings: [String: String] = [:]

    /// Where an operator finds the URL; named where it is to blame.
    public var setting: String?

    /// Of all connections that are made with it.
    let shortages = Shortages()

    public init(url: String) { self.url = url }

    /// What keeps libpq from ever connecting with a URL, and what to do; `nil` when nothing does. It quotes nothing of the URL.
    public static func problem(withURL url: String) -> String? {
        if url.isEmpty { return "must not be empty" }
        do {
            return try ConnectionParameters(PostgresConfiguration(url: url)).problem
        } catch {
            return
                "must be postgres://user:password@host:port/database; in a user or password, / ? # @ : and % are written %2F %3F %23 %40 %3A %25"
        }
    }
}
