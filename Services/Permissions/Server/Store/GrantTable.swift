import DocumentModel
import EventTopics
import Postgres

/// `partita.grants`: the current decisions.
package struct GrantTable: Sendable {
    let client: PostgresClient

    package init(client: PostgresClient) { self.client = client }

    /// For how many seconds an answer is valid that depended on something that can't be watched.
    static let untrackedLifetime = 5

    /// The reason that is recorded when a blocked user is denied all access.
    static let shutOutReason = "the account is deleted or disabled"

    /// The grant on which a decision is based.
    package enum Basis {
        /// Any existing grant.
        case whatever
        /// The grant of this version.
        case version(Revision)
        /// No grant; the question has created, or found, its subject with this `life`.
        case nothing(life: Int64)
    }

    /// Commits a decision, by `partita.commit_grant`. A blocked user gets no access, whatever was decided.
    ///
    /// - Parameter basis: the grant that must still be current.
    /// - Returns: `nil` when it isn't: another decision was committed first, and this one has to be made again.
    package func commit(_ verdict: Verdict, on subject: Subject, basis: Basis) async throws -> Grant? {
        let (version, life): (Revision?, Int64?) =
            switch basis {
            case .whatever: (nil, nil)
            case .version(let version): (version, nil)
            case .nothing(let life): (nil, life)
            }
        return try await client.query(
            "select * from partita.commit_grant($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12)",
            Self.pair(subject) + [
                PostgresValue(version.map { Int64($0.epoch) }), PostgresValue(version?.number), PostgresValue(life),
            ] + Self.values(of: verdict)
        ).first.map { try Self.grant($0, of: subject) }
    }

    private static func values(of verdict: Verdict) -> [PostgresValue] {
        [
            .text(verdict.access.rawValue), .legible(verdict.reason),
            verdict.isUntracked ? .double(Double(untrackedLifetime)) : .null,
            PostgresValue(verdict.rules?.version), PostgresValue(verdict.rules?.secrets), .text(shutOutReason),
        ]
    }

    /// Commits a decision that equals the current grant: the grant gets a new version, so that a concurrent decision on older
    /// documents is discarded, and nothing is published, since nothing changes for gateways and devices.
    /// - Returns: whether the grant was still current; otherwise nothing was written, and the decision has to be committed like any
    ///   other.
    func confirm(_ verdict: Verdict, on subject: Subject, _ grant: Grant) async throws -> Bool {
        let pair = Self.pair(subject)
        return try await client.withTransaction { transaction in
            // In the order of locks of `partita.commit_grant`: a subject comes before its grant.
            _ = try await transaction.query(
                "select from partita.grant_subjects where app = $1 and partition = $2 and user_id = $3 for no key update",
                pair)
            let count = try await transaction.execute(
                """
                update partita.grants g
                set version = greatest(version + 1, nextval('partita.grant_versions')), decided_at = clock_timestamp(),
                    rules = $6, secrets = $7
                where app = $1 and partition = $2 and user_id = $3 and epoch::bigint = $4::bigint and version = $5
                    and epoch = partita.current_epoch() and not exists (
                        select from partita.shut_out_users u where u.app = g.app and u.user_id = g.user_id)
                """,
                pair + [
                    .int(Int64(grant.version.epoch)), .int(grant.version.number), PostgresValue(verdict.rules?.version),
                    PostgresValue(verdict.rules?.secrets),
                ])
            guard count > 0 else { return false }
            _ = try await transaction.query(
                "update partita.grant_subjects set is_decided = true where app = $1 and partition = $2 and user_id = $3",
                pair)
            return true
        }
    }

    func grant(of subject: Subject) async throws -> Grant? {
        try await client.query(
            "select \(Self.columns) from partita.grants where app = $1 and partition = $2 and user_id = $3",
            Self.pair(subject)
        ).first.map { try Self.grant($0, of: subject) }
    }

    static let columns = """
        access, epoch, version, reason #>> '{}' as reason, (extract(epoch from expires_at) * 1000)::bigint as expires,
        false as fence
        """

    // MARK: Subjects

    /// Stores the claims of a user who asks.
    /// - Returns: the subject's `life`, a number that changes when the subject is forgotten and created again: as long as it is the
    ///   same, the dependencies that were committed for it exist.
    func begin(_ subject: Subject, claims: Document) async throws -> Int64 {
        let rows = try await client.query(
            """
            insert into partita.grant_subjects (app, partition, user_id, claims) values ($1, $2, $3, $4)
            on conflict (app, partition, user_id) do update set claims = excluded.claims, asked_at = now()
            returning life
            """, Self.pair(subject) + [.text(ExtendedJSON.print(claims))])
        return try rows.decode(Int64.self).first ?? 0
    }

    /// The claims of the access token with which the user asked; `nil` when there is no such question.
    func claims(of subject: Subject) async throws -> Document? {
        let rows = try await client.query(
            "select claims from partita.grant_subjects where app = $1 and partition = $2 and user_id = $3",
            Self.pair(subject))
        return try rows.decode(String.self).first.map { try ExtendedJSON.parseDocument($0) }
    }

    /// Removes a subject and its dependencies if there is no grant.
    /// - Returns: whether there was no grant, so that they were removed.
    func forget(_ subject: Subject) async throws -> Bool {
        try await client.withTransaction { transaction in
            // A transaction that commits a first grant, or adds dependencies, locks the subject; after this lock its changes are
            // visible.
            try await Self.lock(subject, in: transaction)
            guard
                try await transaction.query(
                    "select from partita.grants where \(Self.mine)", Self.pair(subject)
                ).isEmpty
            else { return false }
            try await Self.deleteSubject(subject, in: transaction)
            return true
        }
    }

    private static let mine = "app = $1 and partition = $2 and user_id = $3"

    private static func lock(_ subject: Subject, in transaction: PostgresTransaction) async throws {
        try await transaction.execute(
            "select from partita.grant_subjects where \(mine) for update", pair(subject))
    }

    private static func deleteSubject(_ subject: Subject, in transaction: PostgresTransaction) async throws {
        try await transaction.execute("delete from partita.grant_subjects where \(mine)", pair(subject))
        try await transaction.execute("delete from partita.grant_dependencies where \(mine)", pair(subject))
    }

    /// Revocations that have their receipt and are older than `$1` seconds. The topic must have had the newest version.
    static let needless = """
        g.access = 'none' and g.decided_at < clock_timestamp() - make_interval(secs => $1)
        and not exists (
            select from partita.fences f where (f.app, f.partition, f.user_id) = (g.app, g.partition, g.user_id))
        and \(isPublished)
        """

    /// Grants that no service has served by for long, also those for all users, of which there is one for each partition that was ever opened. The
    /// number of days isn't a parameter: with one, Postgres may choose a plan that reads all grants.
    static let unused = """
        g.access <> 'none' and g.expires_at is null and g.used_on < current_date - 90
        and \(isPublished)
        """

    private static let hasSubject = """
        exists (
            select from partita.grant_subjects s where (s.app, s.partition, s.user_id) = (g.app, g.partition, g.user_id))
        """

    private static let isPublished = """
        not exists (
            select from partita.grant_outbox o where (o.app, o.partition, o.user_id) = (g.app, g.partition, g.user_id))
        """

    /// Removes a revocation that nobody needs, with its subject and dependencies, and has its removal from the topic in the outbox.
    /// - Returns: `false` when it is needed, or gone.
    func remove(_ subject: Subject, olderThan age: Duration) async throws -> Bool {
        try await change(
            subject,
            """
            with gone as (
                delete from partita.grants g
                where app = $2 and partition = $3 and user_id = $4 and \(Self.needless) returning *)
            \(Self.announce("gone"))
            """, [.double(age / .seconds(1))])
    }

    /// Ends a grant that nobody uses, and removes its subject and dependencies. Its row stays: a move into the partition has to wait until permissions
    /// has been asked, and without a row it would be rejected.
    /// - Returns: `false` when it is in use again, or gone.
    func end(_ subject: Subject) async throws -> Bool { try await end(subject, Self.unused) }

    private func end(_ subject: Subject, _ condition: String) async throws -> Bool {
        try await change(
            subject,
            """
            with ended as (
                update partita.grants g
                set expires_at = clock_timestamp(), version = greatest(version + 1, nextval('partita.grant_versions'))
                where \(Self.mine) and \(condition) returning *)
            \(Self.announce("ended"))
            """)
    }

    /// Ends a grant with access that has no subject, so that no change would decide it again.
    /// - Returns: `false` when it has one, or there is none.
    func endWithoutSubject(_ subject: Subject) async throws -> Bool {
        try await end(
            subject,
            "g.access <> 'none' and coalesce(g.expires_at > clock_timestamp(), true) and not \(Self.hasSubject)")
    }

    /// Changes a grant by a statement, under the locks of `partita.commit_grant` and in their order, and deletes its subject.
    /// - Returns: whether the statement changed it; otherwise nothing is deleted.
    private func change(_ subject: Subject, _ sql: String, _ values: [PostgresValue] = []) async throws -> Bool {
        try await client.withTransaction { transaction in
            try await transaction.execute(
                "select from partita.partitions where app = $1 and partition = $2 for update",
                [.text(subject.app), .text(subject.partition.text)])
            try await Self.lock(subject, in: transaction)
            guard try await transaction.execute(sql, values + Self.pair(subject)) > 0 else { return false }
            try await Self.deleteSubject(subject, in: transaction)
            return true
        }
    }

    func isShutOut(_ user: String, app: String) async throws -> Bool {
        try await !client.query(
            "select from partita.shut_out_users where app = $1 and user_id = $2", [.text(app), .text(user)]
        ).isEmpty
    }

    /// The answer to a question that gets no grant of its own, with a version that is older than any grant of the epoch.
    func answer(_ verdict: Verdict, of subject: Subject) async throws -> Grant {
        let epoch = try await client.query("select partita.current_epoch()").decode(Int32.self).first ?? 0
        let now = WallClock.system.now()
        return Grant(
            app: subject.app, user: subject.user, partition: subject.partition, access: verdict.access,
            version: Revision(epoch: epoch, number: 0), reason: verdict.reason,
            expires: verdict.isUntracked ? now + Int64(Self.untrackedLifetime) * 1000 : nil, time: now)
    }

    /// The subjects of a user, with an answer or waiting for one.
    func subjects(app: String, user: String) async throws -> [Subject] {
        let rows = try await client.query(
            """
            select user_id, partition from partita.grants where app = $1 and user_id = $2 union
            select user_id, partition from partita.grant_subjects where app = $1 and user_id = $2
            """, [.text(app), .text(user)])
        return try Self.subjects(rows, of: app)
    }

    /// The subjects without an answer, and those whose answer was decided with other rules of the app, or before a restore, after which the topic
    /// may have answers that the database doesn't have. The order is stable.
    /// - Parameters:
    ///   - subject: The subject after which to start; `nil` for the first page.
    ///   - limit: The largest number of subjects; fewer means that there are no more.
    func subjects(
        app: String, otherThan rules: AppliedRules, after subject: Subject?, limit: Int
    ) async throws -> [Subject] {
        let rows = try await client.query(
            """
            select s.user_id, s.partition from partita.grant_subjects s
            left join partita.grants g on (g.app, g.partition, g.user_id) = (s.app, s.partition, s.user_id)
            where s.app = $1 and (s.partition, s.user_id) > ($3, $4)
                and (g.rules is distinct from $2 or g.secrets is distinct from $6 or g.epoch <> (select partita.current_epoch()))
            order by s.partition, s.user_id limit $5
            """,
            [
                .text(app), .int(rules.version), .text(subject?.partition.text ?? ""), .text(subject?.user ?? ""),
                .int(Int64(limit)), .int(rules.secrets),
            ])
        return try Self.subjects(rows, of: app)
    }

    private static func subjects(_ rows: PostgresRows, of app: String) throws -> [Subject] {
        try rows.map { row in
            let (user, partition) = try row.decode((String, String).self)
            return Subject(app: app, user: user, partition: Partition(text: partition))
        }
    }

    /// Deletes the claims of a blocked user, so that later changes don't cause decisions for the user; not those of a user who was enabled
    /// meanwhile, or has a grant. Locks them in the order of `partita.first_grants`.
    func forgetClaims(app: String, user: String) async throws {
        try await client.execute(
            """
            delete from partita.grant_subjects where ctid = any(array(
                select ctid from partita.grant_subjects where app = $1 and user_id = $2 order by partition for update))
                and exists (select from partita.shut_out_users where app = $1 and user_id = $2)
                and not exists (
                    select from partita.grants g
                    where g.app = $1 and g.user_id = $2 and g.partition = partita.grant_subjects.partition and g.access <> 'none')
            """, [.text(app), .text(user)])
    }

    // MARK: The outbox

    /// Grants that may not have been published to the topic.
    package func unpublished(limit: Int) async throws -> [Grant] {
        let rows = try await client.query(
            """
            select g.access, g.epoch, g.version, g.reason #>> '{}' as reason,
                (extract(epoch from g.expires_at) * 1000)::bigint as expires,
                g.access = 'none' and exists (
                    select from partita.fences f where (f.app, f.partition, f.user_id) = (g.app, g.partition, g.user_id)
                ) as fence, g.app, g.user_id, g.partition
            from partita.grant_outbox o join partita.grants g using (app, partition, user_id) limit $1
            """, [.int(Int64(limit))])
        return try rows.map { row in
            let subject = Subject(
                app: try row.decode("app"), user: try row.decode("user_id"),
                partition: Partition(text: try row.decode("partition")))
            return try Self.grant(row, of: subject)
        }
    }

    /// The statement that puts the newest versions of grants into the outbox.
    /// - Parameter rows: A `from` clause of rows with the columns of the outbox.
    private static func announce(_ rows: String) -> String {
        """
        insert into partita.grant_outbox as o (app, partition, user_id, epoch, version)
        select app, partition, user_id, epoch, version from \(rows)
        on conflict (app, partition, user_id) do update set epoch = excluded.epoch, version = excluded.version
        where (o.epoch, o.version) < (excluded.epoch, excluded.version)
        """
    }

    /// Removes published versions from the outbox; a later version stays there.
    ///
    /// Another process may have published a later one, or the grant's removal, before this one: then the topic ends with the older. Such a grant
    /// comes into the outbox again.
    /// - Parameter grants: In the order in which the topic has them.
    package func published(_ grants: [Grant]) async throws {
        try await client.execute(
            """
            with published as (
                select distinct on (app, partition, user_id) p.*, g.epoch as present_epoch, g.version as present_version
                from \(PublishedGrants.rows) left join partita.grants g using (app, partition, user_id)
                order by app, partition, user_id, place desc
            ), gone as (
                delete from partita.grant_outbox o using published p
                where o.app = p.app and o.partition = p.partition and o.user_id = p.user_id
                    and (o.epoch, o.version) <= (p.epoch, p.version)
                    and (p.present_epoch, p.present_version) = (p.epoch, p.version)
            ), overtaken as (
                select app, partition, user_id,
                    coalesce(present_epoch, epoch) as epoch, coalesce(present_version, version) as version
                from published
                where present_version is null or (present_epoch, present_version) > (epoch, version)
            )
            \(Self.announce("overtaken"))
            """, PublishedGrants.values(grants))
    }

    /// Grants that were removed, and that the topic may still have.
    func removed(limit: Int) async throws -> [RemovedGrant] {
        let rows = try await client.query(
            """
            select o.app, o.user_id, o.partition, o.epoch, o.version from partita.grant_outbox o
            where not exists (
                select from partita.grants g where (g.app, g.partition, g.user_id) = (o.app, o.partition, o.user_id))
            limit $1
            """, [.int(Int64(limit))])
        return try rows.map { row in
            let (app, user, partition, epoch, number) = try row.decode((String, String, String, Int32, Int64).self)
            return RemovedGrant(
                subject: Subject(app: app, user: user, partition: Partition(text: partition)),
                version: Revision(epoch: epoch, number: number))
        }
    }

    /// Ends the removal of a grant from the topic; a grant that was given meanwhile stays in the outbox.
    func removedFromTopic(_ grant: RemovedGrant) async throws {
        try await client.execute(
            "delete from partita.grant_outbox where \(Self.mine) and (epoch, version) <= ($4::int, $5::bigint)",
            Self.pair(grant.subject) + [.int(Int64(grant.version.epoch)), .int(grant.version.number)])
    }

    /// Puts a grant with access into the outbox again, since it may have been removed from the topic.
    func publishAgain(_ subject: Subject) async throws {
        try await client.execute(
            """
            \(Self.announce("partita.grants where \(Self.mine) and access <> 'none'"))
            """, Self.pair(subject))
    }

    private static func pair(_ subject: Subject) -> [PostgresValue] {
        [.text(subject.app), .text(subject.partition.text), .text(subject.user)]
    }

    static func grant(_ row: PostgresRow, of subject: Subject) throws -> Grant {
        let (access, epoch, version, reason, expires, isFence) = try row.decode(
            (String, Int32, Int64, String?, Int64?, Bool).self)
        return Grant(
            app: subject.app, user: subject.user, partition: subject.partition,
            access: Grant.Access(rawValue: access) ?? .none,
            version: Revision(epoch: epoch, number: version), reason: reason ?? "", expires: expires,
            isFence: isFence, time: WallClock.system.now())
    }
}
