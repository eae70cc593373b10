import AppDefinition
import DocumentModel
import DocumentStore
import EventLoop
import Functions
import Logging
import Postgres

extension AppDeployments {
    /// The bounds of a comparison of data rules.
    private enum DataAccessLimits {
        static let users = 40
        /// Of one collection.
        static let documents = 25
        /// Documents of one collection that are in memory, approximately.
        static let documentBytes = 4 << 20
    }

    /// Evaluates two definitions' data rules; `nil` when these are the same. The users are those of which the server knows, the latest
    /// first, and the documents those that were inserted last.
    func dataAccessDifference(
        _ before: AppDefinition, _ after: AppDefinition, limit: Duration = .seconds(60)
    ) async throws -> AccessDifference? {
        guard RuleTexts.ofDocuments(before) != RuleTexts.ofDocuments(after) else { return nil }
        let hosts = FunctionHostPool(configuration: .init(hosts: 2), loop: loop, logger: Logger(label: "rules"))
        let running = Task { try await hosts.run() }
        defer { running.cancel() }
        let deadline = ContinuousClock.now + limit
        let users = try await knownUsers(of: after.id)
        var count = 0
        var (evaluated, failed, untold) = (0, 0, 0)
        let (oldLacks, newLacks) = (before.lacksSecrets, after.lacksSecrets)
        var changes: [AccessDifference.Change] = []
        for namespace in try await collections(of: before, after) {
            let (documents, total) = try await sample(namespace, of: before)
            guard !documents.isEmpty else { continue }
            count += total * users.count
            for user in users.list where ContinuousClock.now < deadline {
                let old = try await reach(user, documents, namespace, before, version: -1, hosts)
                let new = try await reach(user, documents, namespace, after, version: -2, hosts)
                evaluated += documents.count
                if old == nil && oldLacks || new == nil && newLacks {
                    untold += documents.count
                    continue
                }
                if old == nil || new == nil { failed += documents.count }
                for (place, document) in documents.enumerated() {
                    let (old, new) = (old?[place] ?? .none, new?[place] ?? .none)
                    guard old != new else { continue }
                    changes.append(
                        .init(
                            user: user.id,
                            subject: .document(
                                collection: "\(namespace.database).\(namespace.collection)",
                                id: document["_id"]?.idText ?? ""), before: old, after: new))
                }
            }
        }
        return AccessDifference(
            of: .documents, pairs: max(count, evaluated), evaluated: evaluated, failed: failed, untold: untold,
            changes: changes)
    }

    /// The collections that one of the versions declares, or that have documents: a data source's default roles apply to any that has no
    /// roles of its own.
    private func collections(
        of before: AppDefinition, _ after: AppDefinition
    ) async throws -> [ChangeEvent.Namespace] {
        let declared = (after.collections + before.collections).map {
            ChangeEvent.Namespace(database: $0.database, collection: $0.name)
        }
        var seen: Set<ChangeEvent.Namespace> = []
        return (declared + (try await store(before).collections(of: after.id))).filter { seen.insert($0).inserted }
    }

    /// - Returns: `nil` when a function failed.
    private func reach(
        _ user: RuleUser, _ documents: [Document], _ namespace: ChangeEvent.Namespace, _ app: AppDefinition,
        version: Int64, _ hosts: FunctionHostPool
    ) async throws -> [AccessDifference.Access]? {
        let store = store(app)
        return try await Self.answer {
            let access = UserAccess(
                try await user.withPresentCustomData(of: app, in: store), of: app, version: version,
                functions: RuleFunctions(hosts: hosts, store: store))
            let service = app.collection(namespace.collection, database: namespace.database)?.service ?? ""
            return try await access.reach(of: documents, in: namespace, service: service, on: store).map {
                switch $0 {
                case .none: .none
                case .read: .read
                case .write: .write
                }
            }
        }
    }

    /// The documents of a collection that were inserted last, and how many there are.
    private func sample(
        _ namespace: ChangeEvent.Namespace, of app: AppDefinition
    ) async throws -> (documents: [Document], total: Int) {
        let collection = store(app).collection(namespace.collection, database: namespace.database, app: app.id)
        var options = FindOptions()
        options.limit = DataAccessLimits.documents
        options.natural = .backward
        options.projection = ["_id": 1]
        let ids = try await collection.find([:], options: options).compactMap { $0["_id"] }
        var documents: [Document] = []
        var bytes = 0
        for id in ids where bytes < DataAccessLimits.documentBytes {
            guard let document = try await collection.findOne(["_id": id]) else { continue }
            bytes += ExtendedJSON.print(.document(document)).utf8.count
            documents.append(document)
        }
        return (documents, max(documents.count, try await collection.estimatedDocumentCount()))
    }

    /// Some of an app's accounts, those that signed in last first; without auth's tables, the users who asked for partitions.
    func knownUsers(
        of app: String, limit: Int = DataAccessLimits.users
    ) async throws -> (list: [RuleUser], count: Int) {
        let limit = PostgresValue.int(Int64(limit))
        guard try await hasTable("auth_users") else {
            guard try await hasTable("grant_subjects") else { return ([], 0) }
            let rows = try await client.query(
                """
                select user_id, claims, count(*) over () from (
                    select distinct on (user_id) user_id, claims, asked_at from partita.grant_subjects
                    where app = $1 and user_id <> '*'
                    order by user_id, asked_at desc
                ) s order by asked_at desc, user_id limit $2
                """, [.text(app), limit]
            ).decode((String, String, Int).self)
            let users = try rows.map { RuleUser(claims: try ExtendedJSON.parseDocument($0.1), id: $0.0) }
            return (users, rows.first?.2 ?? 0)
        }
        let rows = try await client.query(
            """
            select u.id, u.type, u.data::text, coalesce((
                    select json_agg(json_build_object('id', i.id, 'provider_type', i.provider) order by i.created_at)
                    from partita.auth_identities i where i.app = u.app and i.user_id = u.id
                ), '[]')::text, count(*) over ()
            from partita.auth_users u where u.app = $1 and not u.is_pending
            order by u.last_sign_in desc nulls last, u.id limit $2
            """, [.text(app), limit]
        ).decode((String, String, String, String, Int).self)
        let users = try rows.map { id, type, data, identities, _ in
            RuleUser(
                id: id, type: type, data: try ExtendedJSON.parseDocument(data),
                identities: try ExtendedJSON.parse(identities).arrayValue?.compactMap(\.documentValue) ?? [])
        }
        return (users, rows.first?.4 ?? 0)
    }
}
