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

    /// Adds dependencies of a decision, if its subject still exists. They are committed when this returns, before the documents are
    /// read again.
    func add(_ dependencies: Set<Dependency>, of subject: Subject) async throws {
        let list = Array(dependencies)
        try await client.execute(
            """
            with subject as (
                select from partita.grant_subjects where app = $1 and partition = $2 and user_id = $3 for key share)
            insert into partita.grant_dependencies (app, partition, user_id, database, collection, _id, filter, field, value)
            select $1, $2, $3, d.database, d.collection, d._id, d.filter, d.field, d.value
            from subject, unnest($4::text[], $5::text[], $6::text[], $7::text[], $8::text[], $9::bigint[])
                d(database, collection, _id, filter, field, value)
            on conflict do nothing
            """,
            [
                .text(subject.app), .text(subject.partition.text), .text(subject.user),
                .textArray(list.map(\.database)), .textArray(list.map(\.collection)), .textArray(list.map(\.id)),
                .textArray(list.map(\.filter)), .textArray(list.map(\.anchor?.field)),
                .int8Array(list.map(\.anchor?.value)),
            ])
    }

    /// A decision that may be affected by some changes through one of its dependencies.
    struct Candidate: Sendable {
        let subject: Subject
        let dependency: Dependency
        let changes: [ChangeEvent]

        var isConcerned: Bool { changes.contains(where: dependency.concerns) }
    }

    /// The collections on which decisions in these apps depend.
    func collections(of apps: Set<ExactText>) async throws -> [(app: String, namespace: ChangeEvent.Namespace)] {
        try await client.lookUp(Self.collections, [.textArray(apps.texts)]).map { row in
            let (app, database, collection) = try row.decode((String, String, String).self)
            return (app, .init(database: database, collection: collection))
        }
    }

    /// The subjects whose decisions may change with these changes of one app.
    func subjects(concernedBy changes: [ChangeEvent], app: String) async throws -> Set<Subject> {
        let candidates = try await candidates(for: changes, app: app)
        PermissionsMetrics.dependencyChecks.increment(by: candidates.count)
        return Set(candidates.filter(\.isConcerned).map(\.subject))
    }

    /// Decisions with a dependency that selects the `_id` of a changed document, or whose anchor has a value that the document has
    /// in that field, before or after the change.
    func candidates(for changes: [ChangeEvent], app: String) async throws -> [Candidate] {
        var candidates: [Candidate] = []
        for (namespace, changes) in Dictionary(grouping: changes, by: \.namespace) {
            let collection: [PostgresValue] = [
                .text(app), .text(namespace.database), .text(namespace.collection),
            ]
            let fields = try await client.lookUp(Self.fields, collection).decode(String.self)
            var byID: [ExactText: [ChangeEvent]] = [:]
            var byAnchor: [DependencyAnchor: [ChangeEvent]] = [:]
            for change in changes {
                byID[change.documentKey.idText ?? "", default: []].append(change)
                let images = [change.fullDocumentBeforeChange, change.fullDocument].compactMap { $0 }
                let anchors = images.map { DependencyAnchor.all(in: $0, fields: fields) }
                for anchor in Set(anchors.joined()) { byAnchor[anchor, default: []].append(change) }
            }
            let anchors = Array(byAnchor.keys)
            let rows = try await client.query(
                Self.concerned,
                collection + [
                    .textArray(byID.keys.map(\.text)), .textArray(anchors.map(\.field)),
                    .int8Array(anchors.map(\.value)),
                ])
            for row in rows {
                let (user, partition, id, filter, place) = try row.decode(
                    (String, String, String?, String, Int64?).self)
                let own = id.map { byID[$0] ?? [] } ?? place.flatMap { byAnchor[anchors[Int($0) - 1]] } ?? changes
                candidates.append(
                    Candidate(
                        subject: Subject(app: app, user: user, partition: Partition(text: partition)),
                        dependency: Dependency(
                            database: namespace.database, collection: namespace.collection, id: id, filter: filter),
                        changes: own))
            }
        }
        return candidates
    }

    /// One step in the index for each collection, however many decisions there are.
    private static let collections = """
        with recursive found as (
            select f.* from unnest($1::text[]) a(app) cross join lateral (
                select app, database, collection from partita.grant_dependencies d
                where d.app = a.app order by d.app, d.database, d.collection limit 1) f
            union all
            select n.* from found f cross join lateral (
                select app, database, collection from partita.grant_dependencies d
                where d.app = f.app and (d.database, d.collection) > (f.database, f.collection)
                order by d.app, d.database, d.collection limit 1) n)
        select app, database, collection from found
        """

    /// The fields by which dependencies of a collection are found: one step in the index for each.
    private static let fields = """
        with recursive found as (
            (select field from partita.grant_dependencies
                where app = $1 and database = $2 and collection = $3 and _id is null and field is not null
                order by field limit 1)
            union all
            select (select d.field from partita.grant_dependencies d
                where app = $1 and database = $2 and collection = $3 and _id is null and d.field > f.field
                order by d.field limit 1)
            from found f where f.field is not null)
        select field from found where field is not null
        """

    private static let concerned = """
        select user_id, partition, _id, filter, null::bigint from partita.grant_dependencies
        where app = $1 and database = $2 and collection = $3 and _id = any($4)
        union all
        select user_id, partition, _id, filter, null from partita.grant_dependencies
        where app = $1 and database = $2 and collection = $3 and _id is null and field is null
        union all
        select d.user_id, d.partition, d._id, d.filter, a.place
        from unnest($5::text[], $6::bigint[]) with ordinality a(field, value, place)
        join partita.grant_dependencies d
            on d.app = $1 and d.database = $2 and d.collection = $3 and d._id is null
                and d.field = a.field and d.value = a.value
        """
}
