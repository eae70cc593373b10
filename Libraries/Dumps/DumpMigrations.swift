public import Postgres

/// The migrations of this library's table.
public enum DumpMigrations {
    /// Must be applied before a ``DumpImport``.
    public static let migrations = Migrations(
        owner: "dumps", files: [(1, "imports", PackageResources._001_imports_sql)])
}
