import Postgres

extension AccountStore {
    /// The tables of auth. Nobody else reads or writes them.
    static let migrations = Migrations(
        owner: "auth",
        files: [
            (1, "accounts", PackageResources._001_accounts_sql),
            (2, "session-origins", PackageResources._002_session_origins_sql),
            (3, "keys-of-keys", PackageResources._003_keys_of_keys_sql),
            (4, "one-lease", PackageResources._004_one_lease_sql),
            (5, "redirects", PackageResources._005_redirects_sql),
            (6, "push-registrations", PackageResources._006_push_registrations_sql),
            (7, "administration", PackageResources._007_administration_sql),
            (8, "redirect-links", PackageResources._008_redirect_links_sql),
            (9, "session-ends", PackageResources._009_session_ends_sql),
            (10, "live-sessions", PackageResources._010_live_sessions_sql),
            (11, "idle-accounts", PackageResources._011_idle_accounts_sql),
        ])
}
