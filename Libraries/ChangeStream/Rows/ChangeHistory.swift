public import DocumentModel
public import DocumentStore
public import EventTopics
public import Postgres

/// Reads the change rows in Postgres: changes that a topic may have lost can be read from here as long as they are kept.
public struct ChangeHistory: GapSource {
    /// ``changes(_:after:limit:)`` returns no further change once their documents have so many bytes.
    static let pageBytes = 4 << 20
    /// Rows that are fetched before their size is known.
    private static let firstRows = 4

    private let client: PostgresClient
    private let epoch: EpochWatch?

    /// - Parameters:
    ///   - client: A client of a database to which `DocumentStore.migrations` were applied.
    ///   - epoch: Spares a query for changes of the present epoch.
    public init(client: PostgresClient, epoch: EpochWatch? = nil) {
        self.client = client
        self.epoch = epoch
    }

    public func heads(
        unhandledBy consumer: String, of partitions: SweepScope, after key: PartitionKey?, limit: Int
    ) async throws -> [PartitionHead] {
        let isYoung = "wall_time > now() - $5 * interval '1 second'"
        var (source, condition, age) = ("partita.partitions p", "", Duration?.none)
        switch partitions {
        case .all: break
        case .changed(let time):
            // From the young changes, which are few however many partitions there are.
            source = """
                (select distinct app, partition from partita.changes where \(isYoung)) c
                join partita.partitions p using (app, partition)
                """
            age = time
        case .unchanged(let time):
            condition = """
                and not exists (
                    select from partita.changes c where c.app = p.app and c.partition = p.partition and c.epoch = p.epoch
                        and c.revision = p.head and \(isYoung))
                """
            age = time
        }
        let rows = try await client.query(
            """
            select p.app, p.partition, p.epoch, p.head from \(source)
            left join partita.handled_events h on h.consumer = $4 and h.app = p.app and h.partition = p.partition
            where (p.app, p.partition) > ($1, $2) and coalesce(h.watermark, 0) < p.head \(condition)
            order by p.app, p.partition limit $3
            """,
            [.text(key?.app ?? ""), .text(key?.partition.text ?? ""), .int(Int64(limit)), .text(consumer)]
                + (age.map { [.double($0 / .seconds(1))] } ?? []))
        let now = WallClock.system.now()
        return try rows.map { row in
            let (app, partition, epoch, number) = try row.decode((String, String, Int32, Int64).self)
            return PartitionHead(
                app: app, partition: Partition(text: partition), head: Revision(epoch: epoch, number: number), time: now
            )
        }
    }

    public func changes(
        _ key: PartitionKey, after number: Int64, limit: Int
    ) async throws -> [ChangeEvent] {
        try await client.withTransaction { transaction in
            // By a cursor: each row may have both states of a large document, and their number says nothing about the memory they take.
            let rows = transaction.stream(
                """
                select \(ChangeRow.columns) from partita.changes c
                where c.app = $1 and c.partition = $2 and c.revision > $3 order by c.epoch, c.revision limit $4
                """,
                [.text(key.app), .text(key.partition.text), .int(number), .int(Int64(limit))], batch: Self.firstRows)
            var changes: [ChangeEvent] = []
            var size = 0
            for try await row in rows {
                let row = try ChangeRow(row)
                changes.append(try row.event())
                size += row.size
                if size >= Self.pageBytes { break }
            }
            return changes
        }
    }

    public func areLost(_ changes: [(key: PartitionKey, revision: Revision)]) async throws -> [Bool] {
        if let present = epoch?.epoch, changes.allSatisfy({ $0.revision.epoch == present }) {
            return changes.map { _ in false }
        }
        // A partition has an end of each former epoch in which it was written.
        return try await client.query(
            """
            select case when p.epoch = w.epoch then p.head < w.number
                else not exists (
                    select from partita.epoch_ends e
                    where e.app = w.app and e.partition = w.partition and e.epoch = w.epoch and e.head >= w.number) end
            from unnest($1::text[], $2::text[], $3::bigint[], $4::bigint[]) with ordinality
                w(app, partition, epoch, number, place)
            left join partita.partitions p on p.app = w.app and p.partition = w.partition
            order by w.place
            """,
            [
                .textArray(changes.map(\.key.app)), .textArray(changes.map(\.key.partition.text)),
                .int8Array(changes.map { Int64($0.revision.epoch) }), .int8Array(changes.map(\.revision.number)),
            ]
        ).decode(Bool.self)
    }

    /// Returns one change, for readers of a message that only names it; `nil` when it is no longer kept.
    public func change(app: String, partition: Partition, revision: Revision) async throws -> ChangeEvent? {
        let rows = try await client.query(
            """
            select \(ChangeRow.columns) from partita.changes c
            where c.app = $1 and c.partition = $2 and c.epoch = $3 and c.revision = $4
            """,
            [
                .text(app), .text(partition.text), .int(Int64(revision.epoch)), .int(revision.number),
            ])
        return try rows.first.map { try ChangeRow($0).event() }
    }
}
