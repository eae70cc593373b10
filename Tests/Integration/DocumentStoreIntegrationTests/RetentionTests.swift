import ChangeStream
import DocumentModel
import DocumentStore
import Postgres
import SyncEngine
import Testing

struct RetentionTests {
    let partition = Partition.conversation("1")

    /// Moves what was committed today to a day in the past.
    private func age(_ fixture: StoreFixture, days: Int) async throws -> String {
        let day = try await fixture.client.query(
            "select to_char((now() at time zone 'UTC')::date - $1::int, 'YYYYMMDD')", [.int(Int64(days))]
        )[0].decode(0, as: String.self)
        try await fixture.client.execute(
            """
            create table partita.changes_\(day) partition of partita.changes
            for values from ('\(day) 00:00:00+00') to ('\(day) 24:00:00+00')
            """)
        try await fixture.client.execute(
            "update partita.changes set wall_time = wall_time - $1::bigint * interval '1 day'", [.int(Int64(days))])
        return day
    }

    @Test func `a day of changes is dropped when it is old and published, not before`() async throws {
        try await StoreFixture.with { fixture in
            try await fixture.grant(in: partition)
            _ = try await fixture.commit(.of(1, [.insert("a", in: partition)], in: partition))
            let day = try await age(fixture, days: 10)
            let retention = HistoryRetention(client: fixture.client, options: .init(days: 7, limit: 20))
            #expect(try await retention.sweep() == [])
            try await fixture.client.execute(
                "insert into partita.published select app, partition, epoch, head from partita.partitions")
            #expect(try await retention.sweep() == [day])
            #expect(try await fixture.changes(in: partition).isEmpty)
            #expect(try await fixture.document("a") != nil)
        }
    }

    @Test func `a day is kept as long as a paused trigger has missed one of its changes`() async throws {
        try await StoreFixture.with { fixture in
            try await fixture.grant(in: partition)
            _ = try await fixture.commit(.of(1, [.insert("a", in: partition)], in: partition))
            let day = try await age(fixture, days: 10)
            try await fixture.client.execute(
                "insert into partita.published select app, partition, epoch, head from partita.partitions")
            // As trigger-workers have it.
            try await fixture.client.execute(
                """
                create table partita.trigger_missed_events as
                select app, 'onMessage' as trigger, partition, epoch, head as revision from partita.partitions
                """)
            let retention = HistoryRetention(client: fixture.client, options: .init(days: 7, limit: 20))
            #expect(try await retention.sweep() == [])
            try await fixture.client.execute("delete from partita.trigger_missed_events")
            #expect(try await retention.sweep() == [day])
        }
    }

    @Test func `beyond the limit a day is dropped even if it isn't published`() async throws {
        try await StoreFixture.with { fixture in
            try await fixture.grant(in: partition)
            _ = try await fixture.commit(.of(1, [.insert("a", in: partition)], in: partition))
            let day = try await age(fixture, days: 30)
            let retention = HistoryRetention(client: fixture.client, options: .init(days: 7, limit: 20))
            #expect(try await retention.sweep() == [day])
        }
    }

    @Test func `old tombstones are removed, and a checkpoint before them is served from the start`() async throws {
        try await StoreFixture.with { fixture in
            try await fixture.grant(in: partition)
            _ = try await fixture.commit(
                .of(1, [.insert("a", in: partition), .insert("b", in: partition)], in: partition))
            _ = try await fixture.commit(.of(2, [.delete("a")], in: partition))
            func resumePoint(_ number: Int64) async throws -> Revision {
                let (history, head) = try await fixture.store.epochHistory(of: partition, app: StoreFixture.app)
                return history.resumePoint(for: Revision(epoch: 1, number: number), head: head).revision
            }
            #expect(try await resumePoint(2) == Revision(epoch: 1, number: 2))
            try await fixture.client.execute("update partita.tombstones set deleted_at = now() - interval '1 year'")
            try await HistoryRetention(client: fixture.client).sweep()
            #expect(try await resumePoint(2) == EpochHistory.beginning)
            #expect(try await resumePoint(3) == Revision(epoch: 1, number: 3))
            let part = try await fixture.store.catchUp(
                app: StoreFixture.app, partition: partition, from: EpochHistory.beginning, user: "ada",
                device: "phone")
            #expect(part.entries.map(\.idText) == ["s:b"])
            #expect(part.tombstoneHorizon == Revision(epoch: 1, number: 3))
        }
    }

    @Test func `more old tombstones and outcomes than one statement drops are all dropped`() async throws {
        try await StoreFixture.with { fixture in
            let count = 5000 * 2 + 7
            try await fixture.client.execute(
                """
                insert into partita.tombstones (app, partition, database, collection, _id, epoch, revision,
                    incarnation_epoch, incarnation, deleted_at)
                select $1, $2, 'd', 'c', 's:' || n, 1, n, 1, n, now() - interval '1 year' from generate_series(1, $3::int) n
                """, [.text(StoreFixture.app), .text(partition.text), .int(Int64(count))])
            try await fixture.client.execute(
                """
                insert into partita.upload_outcomes (app, user_id, device, partition, version, outcome, created_at)
                select $1, 'ada', 'phone', $2, n, '{}', now() - make_interval(days => n % 2 * 365)
                from generate_series(1, $3::int) n
                """, [.text(StoreFixture.app), .text(partition.text), .int(Int64(count))])
            try await HistoryRetention(client: fixture.client).sweep()
            let left = try await fixture.client.query(
                """
                select (select count(*) from partita.tombstones), (select count(*) from partita.upload_outcomes),
                    (select revision from partita.tombstone_horizons)
                """)[0].decode((Int, Int, Int).self)
            #expect(left == (0, count / 2, count))
        }
    }
}
