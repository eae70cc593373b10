extension DocumentStoreMigrations {
    /// A dump names tables, and a number would name another one, or none, in the database that it is restored to.
    static let restored = #"""
        alter table partita.collections
            alter column relation type regclass using to_regclass(format('%I.%I', schema_name, table_name));
        """#
}
