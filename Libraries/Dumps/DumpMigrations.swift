public import Postgres

/// The table of this library.
public enum DumpMigrations {
    /// To be applied before a ``DumpImport``.
    public static let migrations = Migrations(
        owner: "dumps", files: [(1, "imports", PackageResources._001_imports_sql)])
}
