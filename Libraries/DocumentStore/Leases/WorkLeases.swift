import DocumentModel
import EventLoop
public import Postgres

/// Leases in Postgres on work that one process at a time does: one lease, or several with the same name that the processes share
/// evenly.
///
/// A lease expires by itself, so a process that was killed or stopped blocks the work no longer than that. Whenever a lease gets
/// another holder, or is acquired again after it expired, its fence grows. So a late write of a former holder is recognised by its
/// fence, if the write checks the fence in its own transaction (``isHeld(_:fence:in:)``).
public struct WorkLeases: Sendable {
    /// The name of the work; the same in every process that may do it.
    public let name: String
    /// The identity of this process: a different text for each process and each start.
    public let holder: String
    private let count: Int
    private let client: PostgresClient

    /// - Parameters:
    ///   - name: The name of the work.
    ///   - count: How many leases the work is divided into, at least 1; the same in every process.
    ///   - holder: The identity of this process, unique to it and to this start.
    ///   - client: Connections to a database that ``DocumentStore/migrations`` were applied to.
    public init(_ name: String, count: Int = 1, holder: String = ObjectId().hexString, client: PostgresClient) {
        self.name = name
        self.count = max(count, 1)
        self.holder = holder
        self.client = client
    }

    /// Renews this process' leases and acquires free ones, up to an even share among the processes that have recently called this.
    /// Leases beyond its share aren't renewed, and so expire.
    /// - Parameter duration: How long the leases last from now on, by Postgres' clock; renew them well before that.
    /// - Returns: the fence of each lease that is held, by its place (0 up to `count - 1`).
    public func acquire(for duration: Duration) async throws -> [Int: Int64] {
        let rows = try await client.query(
            """
            with me as (
                insert into partita.work_members (name, holder, expires_at)
                select $1, $2, clock_timestamp() + $3::bigint * interval '1 millisecond' where $4::int > 1
                on conflict (name, holder) do update set expires_at = excluded.expires_at
            ), gone as (
                delete from partita.work_members where name = $1 and expires_at < clock_timestamp() - interval '1 minute'
            ), others as (
                select count(*)::int as number from partita.work_members
                where name = $1 and holder <> $2 and expires_at > clock_timestamp()
            ), share as (
                select ($4::int + number) / (number + 1) as number from others
            ), mine as (
                select place, row_number() over (order by place) as rank from partita.work_leases
                where name = $1 and holder = $2 and expires_at > clock_timestamp()
            ), free as (
                select s as place from generate_series(0, $4::int - 1) s
                left join partita.work_leases l on l.name = $1 and l.place = s
                where l.place is null or l.expires_at <= clock_timestamp()
                order by random()
                limit greatest((select number from share) - (select count(*) from mine), 0)
            )
            insert into partita.work_leases as l (name, place, holder, fence, expires_at)
            select $1, place, $2, 1, clock_timestamp() + $3::bigint * interval '1 millisecond'
            from (select place from mine where rank <= (select number from share) union all select place from free) wanted
            order by place
            on conflict (name, place) do update set
                fence = case when l.holder = excluded.holder and l.expires_at > clock_timestamp() then l.fence else l.fence + 1 end,
                holder = excluded.holder, expires_at = excluded.expires_at
            where l.expires_at <= clock_timestamp() or l.holder = excluded.holder
            returning place, fence
            """, [.text(name), .text(holder), .int(duration.wholeMilliseconds), .int(Int64(count))])
        return try Dictionary(uniqueKeysWithValues: rows.decode((Int, Int64).self))
    }

    /// Does the work while this process holds a lease, which is renewed meanwhile and released then.
    /// - Parameter duration: How long others wait after this process was killed.
    /// - Returns: `false`, without having done anything, if other processes hold all leases.
    /// - Throws: the body's error, or that of a renewal, which cancels the body: ``Lost`` when there is another fence.
    public func hold(for duration: Duration, _ body: @escaping @Sendable () async throws -> Void) async throws -> Bool {
        guard let fence = try await acquire(for: duration)[0] else { return false }
        let result: Result<Void, any Error>
        do { result = .success(_ = try await renewing(fence, for: duration, body)) } catch { result = .failure(error) }
        // If it fails, the lease expires by itself.
        try? await release()
        try result.get()
        return true
    }

    /// The lease has expired during the work, for example while the process was stopped: another one may have it, or have had it.
    public struct Lost: Error, CustomStringConvertible {
        public var description: String { "the lease has expired before the work was done: it begins anew" }
    }

    /// Does the work under the only lease of this name, which this process holds for half of a duration at least, and renews it meanwhile.
    /// - Parameter fence: The fence that ``acquire(for:)`` returned for it.
    /// - Returns: When it was renewed for the last time; `nil` if that wasn't needed.
    /// - Throws: the body's error, or that of a renewal, which cancels the body: ``Lost`` when there is another fence.
    public func renewing(
        _ fence: Int64, for duration: Duration, _ body: @escaping @Sendable () async throws -> Void
    ) async throws -> ContinuousClock.Instant? {
        let renewed = Locked<ContinuousClock.Instant?>(nil)
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask(operation: body)
            group.addTask {
                // One renewal may fail to come in time.
                while true {
                    try await Task.sleep(for: duration / 3)
                    let now = ContinuousClock.now
                    guard try await acquire(for: duration)[0] == fence else { throw Lost() }
                    renewed.withLock { $0 = now }
                }
            }
            defer { group.cancelAll() }
            try await group.next()
        }
        return renewed.withLock { $0 }
    }

    /// Returns whether a lease is still held. It stays held until the transaction ends, since no other process can take it before.
    /// - Parameters:
    ///   - place: The place of the lease (0 up to `count - 1`).
    ///   - fence: The fence that ``acquire(for:)`` returned for it.
    public func isHeld(_ place: Int = 0, fence: Int64, in transaction: some PostgresQuerying) async throws -> Bool {
        try await transaction.query(
            """
            select from partita.work_leases
            where name = $1 and place = $2 and holder = $3 and fence = $4 and expires_at > clock_timestamp() for share
            """, [.text(name), .int(Int64(place)), .text(holder), .int(fence)]
        ).count > 0
    }

    /// Releases this process' leases, so that other processes need not wait until they expire.
    public func release() async throws {
        try await client.execute(
            """
            with gone as (delete from partita.work_members where name = $1 and holder = $2)
            update partita.work_leases set expires_at = clock_timestamp() where name = $1 and holder = $2
            """, [.text(name), .text(holder)])
    }
}
