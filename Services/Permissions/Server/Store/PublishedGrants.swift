import EventTopics
import Postgres

/// Grants that the topic has, as rows of a statement about all of them at once.
enum PublishedGrants {
    /// The rows `p`, of the values ``values(_:)`` as `$1` to `$5`; their places are the order of the values.
    static let rows = """
        unnest($1::text[], $2::text[], $3::text[], $4::bigint[], $5::bigint[]) with ordinality
            p(app, partition, user_id, epoch, version, place)
        """

    static func values(_ grants: [Grant]) -> [PostgresValue] {
        [
            .textArray(grants.map(\.app)), .textArray(grants.map(\.partition.text)), .textArray(grants.map(\.user)),
            .int8Array(grants.map { Int64($0.version.epoch) }), .int8Array(grants.map(\.version.number)),
        ]
    }
}
