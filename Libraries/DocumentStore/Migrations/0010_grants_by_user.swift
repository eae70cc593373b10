extension DocumentStoreMigrations {
    /// Which partitions a user may read: for whose presence a user may watch, and for all answers about a user who is shut out.
    static let grantsByUser = """
        create index grants_by_user on partita.grants (app, user_id, partition);
        """
}
