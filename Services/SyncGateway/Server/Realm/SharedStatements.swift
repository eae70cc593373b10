import DocumentModel
import DocumentStore
import EventLoop
import Postgres
import RealmSync

/// Reads and writes of the histories of many partitions. What comes while statements run goes together with the next ones, whatever the
/// partition, so that many clients don't cost a round trip and a transaction each.
final class SharedStatements: Sendable {
    private struct Request: Hashable, Sendable {
        let partition: PartitionKey
        let keys: [ObjectKey]
        let salt: Int64
    }

    private let store: DocumentStore
    private let loop: EventLoop
    private let reads: GatheredReads<Request, [ObjectKey: Document]>
    /// A transaction is one app's.
    private let commits = Locked<[ExactText: StatementBatches<RealmCommit, Revision>]>([:])

    /// More objects are read by a statement of their own.
    private static let maximumKeys = 100
    private static let maximumCommits = 64
    /// Short, since a transaction that waits keeps others from its connection, and those that are committed with it.
    private static let lockTimeout = Duration.milliseconds(50)

    init(store: DocumentStore, on loop: EventLoop) {
        self.store = store
        self.loop = loop
        reads = GatheredReads(on: loop) { [client = store.client] requests in try await Self.read(requests, client) }
    }

    // MARK: Objects

    /// Objects as they are at the version of the history with a secret.
    /// - Throws: ``RealmRefusal/busy`` if that isn't the newest version.
    func objects(
        _ keys: some Sequence<ObjectKey>, at salt: Int64, of partition: PartitionKey
    ) async throws -> [ObjectKey: Document] {
        let request = Request(partition: partition, keys: Array(keys), salt: salt)
        if request.keys.isEmpty { return [:] }
        let found =
            request.keys.count > Self.maximumKeys
            ? try await Self.read([request], store.client)[request] : try await reads.value(of: request)
        guard let found else { throw RealmRefusal.busy }
        return found
    }

    /// - Returns: the objects for those requests whose version is the newest.
    private static func read(
        _ requests: [Request], _ client: PostgresClient
    ) async throws -> [Request: [ObjectKey: Document]] {
        let keys = requests.enumerated().flatMap { place, request in request.keys.map { (Int64(place), $0) } }
        let rows = try await client.lookUp(
            """
            with g as materialized (
                select r.request, r.app, r.partition, coalesce((
                    select h.salt from partita.realm_partitions p
                    join partita.realm_history h on h.app = p.app and h.partition = p.partition and h.version = p.version
                    where p.app = r.app and p.partition = r.partition), 0) as salt
                from unnest($1::bigint[], $2::text[], $3::text[]) r(request, app, partition))
            select k.place, o.body, g.salt
            from unnest($4::bigint[], $5::text[], $6::text[]) with ordinality k(request, class, id, place)
            join g on g.request = k.request
            left join lateral (
                select body from partita.realm_objects
                where app = g.app and partition = g.partition and class = k.class and id = k.id limit 1) o on true
            """,
            [
                .int8Array(requests.indices.map(Int64.init)), .textArray(requests.map(\.partition.app)),
                .textArray(requests.map(\.partition.partition.text)), .int8Array(keys.map(\.0)),
                .textArray(keys.map(\.1.table)), .textArray(keys.map(\.1.idText)),
            ])
        var found = requests.map { _ in [ObjectKey: Document]() }, isCurrent = requests.map { _ in true }
        for (place, body, salt) in try rows.decode((Int, String?, Int64).self) {
            let (number, key) = keys[place - 1], request = Int(number)
            if salt != requests[request].salt { isCurrent[request] = false }
            if let body { found[request][key] = try ExtendedJSON.parseDocument(body) }
        }
        var answers: [Request: [ObjectKey: Document]] = [:]
        for (place, request) in requests.enumerated() where isCurrent[place] { answers[request] = found[place] }
        return answers
    }

    // MARK: Commits

    /// - Parameters:
    ///   - isAlone: Whether it gets a transaction of its own, since it may well fail.
    ///   - lockTimeout: How long that waits for a lock of another transaction.
    /// - Returns: the revision up to which the history has the changes of documents then.
    /// - Throws: ``RealmRefusal/busy`` if the history isn't what it was, or a document is locked; ``RealmTables/Forbidden``;
    ///   `DocumentStoreError`.
    @discardableResult
    func commit(
        _ commit: RealmCommit, isAlone: Bool, lockTimeout: Duration = lockTimeout
    ) async throws -> Revision {
        if isAlone || commit.isLarge { return try await Self.commit([commit], in: store, lockTimeout: lockTimeout)[0] }
        return try await batches(of: commit.key.app).answer(to: commit)
    }

    /// Commits of two partitions that write one document can't be in one transaction: the store refuses them, and they are tried apart.
    private func batches(of app: String) -> StatementBatches<RealmCommit, Revision> {
        commits.withLock { commits in
            if let known = commits[ExactText(app)] { return known }
            let made = StatementBatches<RealmCommit, Revision>(limit: Self.maximumCommits, on: loop) { [store] in
                try await Self.commit($0, in: store, lockTimeout: Self.lockTimeout)
            } mayComeFromOne: { error in
                error is RealmRefusal || error is RealmTables.Forbidden || error is DocumentStoreError
                    || (error as? PostgresError)?.mayComeFromValues == true
            }
            commits[ExactText(app)] = made
            return made
        }
    }

    /// How long a commit that nobody disturbs waits for others, and how long it may take to be decided: others wait meanwhile.
    private static let exclusive = (lockTimeout: Duration.milliseconds(500), limit: Duration.seconds(1))

    /// Commits what is decided while nobody else can write in the partition.
    /// - Parameters:
    ///   - expected: What it is likely to write.
    ///   - decide: Begins with the state of the partition as it is then; `nil` when there is nothing to commit.
    /// - Returns: See ``commit(_:isAlone:lockTimeout:)``; `nil` when there was nothing to commit.
    /// - Throws: Like that, and what `decide` throws.
    func commitExclusively(
        _ key: PartitionKey, expecting expected: [KeyedWrite], _ decide: () async throws -> RealmCommit?
    ) async throws -> Revision? {
        var decided: RealmCommit?
        do {
            let rows = try await store.commitExclusively(
                in: key.partition, app: key.app, expecting: expected, lockTimeout: Self.exclusive.lockTimeout,
                limit: Self.exclusive.limit, refusal: RealmTables.refusal
            ) {
                decided = try await decide()
                guard let decided else { return ([], []) }
                return (decided.writes, RealmTables.statements(of: [decided]))
            }
            return try decided.flatMap { try RealmTables.revisions(of: [$0], from: rows).first }
        } catch let error as DocumentStoreError where error.code == .busy || error.code == .conflict {
            throw RealmRefusal.busy
        }
    }

    private static func commit(
        _ commits: [RealmCommit], in store: DocumentStore, lockTimeout: Duration
    ) async throws -> [Revision] {
        guard let app = commits.first?.key.app else { return [] }
        // In one order by all gateways, so that they don't wait for each other in a circle.
        let order = commits.indices.sorted { commits[$0].key < commits[$1].key }, sorted = order.map { commits[$0] }
        do {
            let rows = try await store.commit(
                sorted.flatMap(\.writes), app: app, with: RealmTables.statements(of: sorted),
                lockTimeout: lockTimeout, refusal: RealmTables.refusal)
            let revisions = try RealmTables.revisions(of: sorted, from: rows)
            return zip(order, revisions).sorted { $0.0 < $1.0 }.map(\.1)
        } catch let error as DocumentStoreError where error.code == .busy || error.code == .conflict {
            throw RealmRefusal.busy
        }
    }
}
