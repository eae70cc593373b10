public import Postgres

/// The gateways that serve devices: the table `partita.gateways`.
///
/// A gateway registers before it reads its first grant. So a process that reads the registry after committing a revocation finds every
/// gateway that may have read the grant before.
public struct GatewayRegistry: Sendable {
    /// How long a gateway stays registered after its last renewal: much longer than it may serve.
    public static let memory = Duration.seconds(600)
    /// How often a gateway renews its registration.
    public static let signInterval = Duration.seconds(30)
    /// How long a gateway may serve after its last renewal: much less than `memory`.
    public static let validity = Duration.seconds(300)

    private let client: PostgresClient

    /// The registry in a database.
    public init(client: PostgresClient) { self.client = client }

    /// Registers a gateway, or renews its registration.
    public func enter(_ gateway: String) async throws {
        try await client.execute(
            """
            insert into partita.gateways (gateway) values ($1)
            on conflict (gateway) do update set seen_at = clock_timestamp()
            """, [.text(gateway)])
    }

    /// Removes a gateway that has stopped serving.
    public func leave(_ gateway: String) async throws {
        try await client.execute("delete from partita.gateways where gateway = $1", [.text(gateway)])
    }

    /// Removes gateways that haven't renewed their registration for `memory`.
    public func forgetSilent() async throws {
        try await client.execute(
            "delete from partita.gateways where seen_at < clock_timestamp() - make_interval(secs => $1)",
            [.double(Double(Self.memory.components.seconds))])
    }
}
