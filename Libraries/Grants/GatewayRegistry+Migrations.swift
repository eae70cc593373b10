public import Postgres

extension GatewayRegistry {
    /// The registry's table; services that use the registry apply the migration at their start.
    public static let migrations = Migrations(
        owner: "gateways", files: [(1, "gateways", PackageResources._001_gateways_sql)])
}
