import Postgres

extension AppRegistry {
    /// The tables of deployed apps.
    static let migrations = Migrations(
        owner: "app-registry",
        files: [
            (1, "apps", PackageResources._001_apps_sql), (2, "secrets", PackageResources._002_secrets_sql),
            (3, "packages", PackageResources._003_packages_sql), (4, "history", PackageResources._004_history_sql),
            (5, "hosting", PackageResources._005_hosting_sql),
            (6, "trigger beginnings", PackageResources._006_trigger_beginnings_sql),
        ])
}
