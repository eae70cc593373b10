public import Postgres

/// The schema `partita` that this library owns.
///
/// The table `partita.grants` is made here too, because an upload is checked against it inside the commit; its rows belong to
/// the service `permissions`.
public enum DocumentStoreMigrations {
    /// To be applied at the start of every service that uses a ``DocumentStore``, and by `partita setup`.
    public static let migrations = Migrations(
        owner: "document-store",
        files: [
            (1, "tables", tables),
            (2, "functions", functions),
            (3, "folding", folding),
            (4, "other-hands", otherHands),
            (5, "indexes", indexes),
            (6, "schemas", schemas),
            (7, "restored", restored),
            (8, "ids", ids),
            (9, "natural-order", naturalOrder),
            (10, "grants-by-user", grantsByUser),
            (11, "anew", anew),
        ])
}
