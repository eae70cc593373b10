import Postgres

/// The tables that media offload owns.
enum MediaOffloadMigrations {
    static let all = Migrations(
        owner: "media-offload",
        files: [
            (1, "media", PackageResources._001_media_sql), (2, "insertions", PackageResources._002_insertions_sql),
            (3, "store", PackageResources._003_store_sql), (4, "thumbnails", PackageResources._004_thumbnails_sql),
            (5, "adopted-store", PackageResources._005_adopted_store_sql),
        ])
}
