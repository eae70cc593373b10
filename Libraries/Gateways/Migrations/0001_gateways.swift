public import Postgres

extension GatewayRegistry {
    /// The table; services that use the registry apply it at their start.
    public static let migrations = Migrations(owner: "gateways", files: [(number: 1, name: "gateways", sql: gateways)])

    private static let gateways = #"""
        create table partita.gateways (
            gateway text collate "C" primary key,
            seen_at timestamptz not null default clock_timestamp()
        );
        """#
}
