import DocumentModel
import EventTopics
import Permissions
import Postgres
import Simulation
import SyncEngine

/// Plays what happened in the simulated tables of permissions on the real ones.
struct PermissionsReplay {
    private static let app = "simulated"
    private static let partition = Partition(text: "s:simulated")
    /// How late Postgres may be, which doesn't stand still meanwhile: half of the simulation's millisecond, which is a second here.
    private static let tolerance = 0.5

    private let client: PostgresClient
    private let grants: GrantTable
    private let firstAnswers: FirstAnswers
    private let fences: FenceTable
    /// The grants that were committed, by their version in the simulation, and the other way round.
    private var committed: [Int64: Grant] = [:]
    private var versions: [Revision: Int64] = [:]

    /// Begins with empty tables.
    init(on client: PostgresClient) async throws {
        self.client = client
        grants = GrantTable(client: client)
        firstAnswers = FirstAnswers(client: client)
        fences = FenceTable(client: client)
        for table in ["grants", "grant_subjects", "grant_outbox", "fences"] {
            _ = try await client.query("delete from partita.\(table)")
        }
        _ = try await client.query("alter sequence partita.grant_versions restart")
        _ = try await client.query("alter table partita.fences add column if not exists simulated_at bigint")
    }

    /// - Returns: what is different from the simulation's answer.
    mutating func play(_ call: PermissionsCall) async throws -> String? {
        switch call {
        case .decide(let access, let user, let version, let isFence):
            let grant = try await decide(access, for: user)
            (committed[version], versions[grant.version]) = (grant, version)
            if grant.access.rawValue != access.rawValue { return "\(access) was decided as \(grant.access)" }
            if grant.isFence != isFence {
                return "\(user) \(access): needs a receipt: \(grant.isFence), not \(isFence)"
            }
        case .readOutbox(let expected):
            let waiting = try await grants.unpublished(limit: 1000).map(waiting)
            if Set(waiting) != Set(expected) { return "the outbox has \(waiting), not \(expected)" }
        case .mark(let batch, let now, let gateways):
            try await register(gateways)
            let published = try batch.map(grant)
            try await fences.published(published)
            try await grants.published(published)
            _ = try await client.query(
                "update partita.fences set simulated_at = $1 where published_at is not null and simulated_at is null",
                [.int(now)])
        case .answer(let user, let version, let gateway):
            guard let revoked = committed[version] else { return "version \(version) is unknown" }
            try await fences.answered(
                FenceAck(
                    app: Self.app, user: user, partition: Self.partition, version: revoked.version,
                    gateway: "\(gateway)",
                    time: 0))
        case .writeReceipts(let now, let patience, let expected):
            return try await writeReceipts(now: now, patience: patience, expected)
        }
        return nil
    }

    private func decide(_ access: SyncEngine.Access, for user: String) async throws -> Grant {
        let subject = Subject(app: Self.app, user: user, partition: Self.partition)
        let verdict = Verdict(Grant.Access(rawValue: access.rawValue) ?? .none, reason: "simulated")
        if let again = try await grants.commit(verdict, on: subject, basis: .whatever) { return again }
        guard let first = try await firstAnswers.commit(verdict, on: subject, claims: [:]) else {
            throw NothingCommitted()
        }
        return first
    }

    private struct NothingCommitted: Error {}

    private func waiting(_ grant: Grant) -> PermissionsCall.WaitingGrant {
        .init(
            user: grant.user, access: SyncEngine.Access(rawValue: grant.access.rawValue) ?? .none,
            version: versions[grant.version] ?? -1, isFence: grant.isFence)
    }

    private func grant(_ waiting: PermissionsCall.WaitingGrant) throws -> Grant {
        guard var grant = committed[waiting.version] else { throw NothingCommitted() }
        grant.isFence = waiting.isFence
        return grant
    }

    private func register(_ gateways: Set<Int>) async throws {
        _ = try await client.query("delete from partita.gateways")
        for gateway in gateways {
            _ = try await client.query("insert into partita.gateways (gateway) values ($1)", [.text("\(gateway)")])
        }
    }

    private func writeReceipts(
        now: Int64, patience: Int64, _ expected: [PermissionsCall.Receipt]
    ) async throws -> String? {
        // One of the simulation's milliseconds is a second here.
        _ = try await client.query(
            """
            update partita.fences set published_at = clock_timestamp() - make_interval(secs => $1::float8 - simulated_at - \(Self.tolerance))
            where published_at is not null
            """, [.double(Double(now))])
        let receipts = try await fences.completed(leaseTime: .seconds(patience))
        for receipt in receipts { try await fences.close(receipt) }
        let written = receipts.map {
            PermissionsCall.Receipt(
                user: $0.user, version: versions[$0.version] ?? -1, lapsed: Set($0.lapsed.compactMap { Int($0) }))
        }
        return Set(written) == Set(expected) ? nil : "the receipts are \(written), not \(expected)"
    }
}
