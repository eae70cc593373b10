public import Postgres

/// The tables and functions of the document store, in the schema `partita`, as SQL files. They are a separate module because the
/// compiler takes a fifth of a second for each kilobyte of them.
///
/// The table `partita.grants` is created here too, because an upload is checked against it inside the commit; only the service
/// `permissions` writes its rows, and services that serve by a grant write down the day.
public enum StoreSQL {
    public static let migrations = Migrations(
        owner: "document-store",
        files: [
            (1, "tables", PackageResources._001_tables_sql), (2, "leases", PackageResources._002_leases_sql),
            (3, "null_partition", PackageResources._003_null_partition_sql),
            (4, "schema_versions", PackageResources._004_schema_versions_sql),
            (5, "trigger_chains", PackageResources._005_trigger_chains_sql),
            (6, "grant_rules", PackageResources._006_grant_rules_sql),
            (7, "shut_out_users", PackageResources._007_shut_out_users_sql),
            (8, "grant_uses", PackageResources._008_grant_uses_sql),
            (9, "indices_by_time", PackageResources._009_indices_by_time_sql),
        ],
        // A function in the language SQL must be created after the functions that it calls.
        functions: [
            ("epochs", PackageResources.epochs_sql),
            ("change_tables", PackageResources.change_tables_sql),
            ("keys", PackageResources.keys_sql),
            ("grants", PackageResources.grants_sql),
            ("uploads", PackageResources.uploads_sql),
            ("canonical", PackageResources.canonical_sql),
            ("field_clocks", PackageResources.field_clocks_sql),
            ("external_writes", PackageResources.external_writes_sql),
            ("collections", PackageResources.collections_sql),
            ("index_keys", PackageResources.index_keys_sql),
            ("text_search", PackageResources.text_search_sql),
            ("schemas", PackageResources.schemas_sql),
            ("triggers", PackageResources.triggers_sql),
        ])

    /// The functions that begin epochs, for a database with the tables of an older version, such as one from a backup.
    public static let epochs = String(decoding: PackageResources.epochs_sql, as: UTF8.self)
}
