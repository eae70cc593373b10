import Postgres

/// The tables that permissions owns, besides `partita.grants`, which the document store creates and permissions writes.
package enum PermissionsMigrations {
    package static let all = Migrations(
        owner: "permissions",
        files: [
            (1, "decisions", PackageResources._001_decisions_sql),
            (2, "fences", PackageResources._002_fences_sql),
            (3, "dependency-anchors", PackageResources._003_dependency_anchors_sql),
            (4, "shut-out", PackageResources._004_shut_out_sql),
            (5, "shut-out-by-auth", PackageResources._005_shut_out_by_auth_sql),
            (6, "lives", PackageResources._006_lives_sql),
            (7, "rules", PackageResources._007_rules_sql),
            (8, "rules-of-grants", PackageResources._008_rules_of_grants_sql),
            (9, "commit-grant", PackageResources._009_commit_grant_sql),
            (10, "first-grant", PackageResources._010_first_grant_sql),
            (11, "first-grants", PackageResources._011_first_grants_sql),
            (12, "outbox-versions", PackageResources._012_outbox_versions_sql),
            (13, "subjects-by-user", PackageResources._013_subjects_by_user_sql),
        ],
        functions: [
            ("commit_grant", PackageResources.commit_grant_sql),
            ("first_grants", PackageResources.first_grants_sql),
        ])
}
