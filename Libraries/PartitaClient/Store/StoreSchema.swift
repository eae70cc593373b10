/// The tables of a user's local store. Tables of documents are keyed by (partition, collection, `_id`).
enum StoreSchema {
    /// The migrations from version to version; one that was released is never changed.
    static let migrations = [
        """
        CREATE TABLE settings(name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;

        CREATE TABLE partitions(
            partition TEXT PRIMARY KEY,
            checkpoint TEXT NOT NULL,
            received TEXT NOT NULL,
            staging INTEGER NOT NULL,
            replacing INTEGER NOT NULL,
            contained_version INTEGER NOT NULL,
            staged_version INTEGER NOT NULL,
            next_version INTEGER NOT NULL,
            access TEXT NOT NULL
        ) WITHOUT ROWID;

        -- The server's documents.
        CREATE TABLE documents(
            partition TEXT NOT NULL, collection TEXT NOT NULL, id TEXT NOT NULL,
            body TEXT NOT NULL, revision TEXT NOT NULL, incarnation TEXT NOT NULL,
            PRIMARY KEY (partition, collection, id)
        ) WITHOUT ROWID;

        -- Chunks of a catch-up that isn't complete; no body: deleted.
        CREATE TABLE staged(
            partition TEXT NOT NULL, collection TEXT NOT NULL, id TEXT NOT NULL,
            body TEXT, revision TEXT NOT NULL, incarnation TEXT NOT NULL,
            PRIMARY KEY (partition, collection, id)
        ) WITHOUT ROWID;

        -- What is shown of the documents with pending operations, in place of the server's; no body: none.
        CREATE TABLE shown(
            partition TEXT NOT NULL, collection TEXT NOT NULL, id TEXT NOT NULL, body TEXT,
            PRIMARY KEY (partition, collection, id)
        ) WITHOUT ROWID;

        -- Changesets as upload frames. No revision: no answer yet.
        CREATE TABLE pending(
            partition TEXT NOT NULL, version INTEGER NOT NULL, changeset BLOB NOT NULL,
            revision TEXT, contained INTEGER NOT NULL, reofferable INTEGER NOT NULL,
            PRIMARY KEY (partition, version)
        );

        CREATE TABLE retained(
            partition TEXT NOT NULL, version INTEGER NOT NULL, changeset BLOB NOT NULL, acknowledged_at INTEGER NOT NULL,
            PRIMARY KEY (partition, version)
        );

        CREATE TABLE rejected(
            id INTEGER PRIMARY KEY AUTOINCREMENT,
            partition TEXT NOT NULL, version INTEGER NOT NULL, changeset BLOB NOT NULL,
            code TEXT NOT NULL, reason TEXT NOT NULL, path TEXT, rule TEXT, rejected_at INTEGER NOT NULL
        );
        CREATE INDEX rejected_partition ON rejected(partition);
        """,
        // What the last staged chunk carried for `subscribe`. A store without it begins its catch-up again.
        "ALTER TABLE partitions ADD COLUMN resume TEXT",
        // When the gateway last compared what the device holds of a partition; milliseconds since 1970.
        "CREATE TABLE comparisons(partition TEXT PRIMARY KEY, compared_at INTEGER NOT NULL) WITHOUT ROWID",
    ]
}
