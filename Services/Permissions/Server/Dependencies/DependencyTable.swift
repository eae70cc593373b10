import DocumentModel
import Postgres

/// `partita.grant_dependencies`.
struct DependencyTable: Sendable {
    let client: PostgresClient

    func dependencies(of subject: Subject) async throws -> Set<Dependency> {
        let rows = try await client.query(
            """
            select database, collection, _id, filter from partita.grant_dependencies
            where app = $1 and partition = $2 and user_id = $3
            """, [.text(subject.app), .text(subject.partition.text), .text(subject.user)])
        return Set(
            try rows.map { row in
                let (database, collection, id, filter) = try row.decode((String, String, String?, String).self)
                return Dependency(database: database, collection: collection, id: id, filter: filter)
            })
    }

    /// Adds what a decision turned out to depend on. Committed when it returns, and so before what it is about is read again.
    func add(_ dependencies: Set<Dependency>, of subject: Subject) async throws {
        let list = Array(dependencies)
        try await client.execute(
            """
            insert into partita.grant_dependencies (app, partition, user_id, database, collection, _id, filter)
            select $1, $2, $3, d.database, d.collection, d._id, d.filter
            from unnest($4::text[], $5::text[], $6::text[], $7::text[]) d(database, collection, _id, filter)
            on conflict do nothing
            """,
            [
                .text(subject.app), .text(subject.partition.text), .text(subject.user),
                .textArray(list.map(\.database)), .textArray(list.map(\.collection)), .textArray(list.map(\.id)),
                .textArray(list.map(\.filter)),
            ])
    }

    /// The subjects whose decisions may change with these changes of one app.
    func subjects(concernedBy changes: [ChangeEvent], app: String) async throws -> Set<Subject> {
        var concerned: Set<Subject> = []
        for (namespace, changes) in Dictionary(grouping: changes, by: \.namespace) {
            let rows = try await client.query(
                """
                select user_id, partition, _id, filter from partita.grant_dependencies
                where app = $1 and database = $2 and collection = $3 and (_id is null or _id = any($4))
                """,
                [
                    .text(app), .text(namespace.database), .text(namespace.collection),
                    .textArray(Array(Set(changes.map { $0.documentKey.keyText ?? "" }))),
                ])
            for row in rows {
                let (user, partition, id, filter) = try row.decode((String, String, String?, String).self)
                let dependency = Dependency(
                    database: namespace.database, collection: namespace.collection, id: id, filter: filter)
                if changes.contains(where: dependency.concerns) {
                    concerned.insert(Subject(app: app, user: user, partition: Partition(text: partition)))
                }
            }
        }
        return concerned
    }
}
