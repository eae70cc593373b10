import DocumentModel
import DocumentStore
import EventStream
import EventTopics
import Foundation
import Logging
import Postgres
import TestSupport
import Testing

@testable import TriggerWorkers

@Suite struct DatabaseTriggerTests {
    private static let counting = """
        exports = async function (event) {
            const database = context.services.get("mongodb-atlas").db("Test");
            const before = await database.collection("Counter").findOne({_id: event.fullDocument.to});
            await database.collection("Counter").updateOne(
                {_id: event.fullDocument.to}, {$inc: {count: 1}, $set: {last: event.fullDocument.text}}, {upsert: true});
        };
        """

    @Test func `a trigger's write is applied once although its event is delivered twice`() async throws {
        let fixture = try await TriggersFixture.shared()
        let app = TriggerApp(functions: ["count": Self.counting], triggers: ["Message": "count"])
        try await fixture.deploy(app)
        let messages = fixture.store.collection("Message", database: "Test", app: app.id)
        let counters = fixture.store.collection("Counter", database: "Test", app: app.id)
        _ = try await messages.insertOne(["_id": "message", "to": "ann", "text": "first"])
        try await eventually("the count", within: patience) {
            try await counters.findOne(["_id": "ann"])?["count"]?.intValue == 1
        }
        try await eventually("the event is finished") { try await fixture.journalRows(of: app) == 0 }
        let event = try #require(try await fixture.lastChange(of: app, collection: "Message"))
        try await fixture.events.send(event)
        // The events of a document are handled in their order: another one of it shows that the second delivery is over.
        _ = try await messages.deleteOne(["_id": "message"])
        _ = try await messages.insertOne(["_id": "message", "to": "ann", "text": "second"])
        let counter = try await eventually("the second message is counted", within: patience) {
            let counter = try await counters.findOne(["_id": "ann"])
            return counter?["last"]?.stringValue == "second" ? counter : nil
        }
        #expect(counter["count"]?.intValue == 2)
        #expect(fixture.deadLetters(of: app).isEmpty)
    }

    /// As during an upgrade, when a newer process has stored it.
    @Test func `events of an app whose version can't be read wait until it can`() async throws {
        let fixture = try await TriggersFixture.shared()
        let app = TriggerApp(functions: ["count": Self.counting], triggers: ["Message": "count"])
        try await fixture.postgres.withTransaction {
            try await $0.runScript(
                """
                create table public.kept (definition json);
                create function public.keep() returns trigger language plpgsql as $$
                begin
                    insert into public.kept values (new.definition);
                    update partita.app_versions set definition = '{"of": "another form"}' where app = new.app;
                    return null;
                end $$;
                -- At the end of the transaction: a deployment reads what it has stored.
                create constraint trigger keep after insert on partita.app_versions deferrable initially deferred
                for each row when (new.app = '\(app.id)') execute function public.keep();
                """)
        }
        try await fixture.deployUnannounced(app)
        let counters = fixture.store.collection("Counter", database: "Test", app: app.id)
        _ = try await fixture.store.collection("Message", database: "Test", app: app.id).insertOne(
            ["_id": 1, "to": "ann"])
        try await Task.sleep(for: .seconds(3))  // longer than it takes as a rule
        #expect(try await counters.findOne(["_id": "ann"]) == nil)
        try await fixture.postgres.execute(
            "update partita.app_versions v set definition = k.definition from public.kept k where v.app = $1",
            [.text(app.id)])
        try await eventually("it is counted", within: patience) {
            try await counters.findOne(["_id": "ann"])?["count"] == 1
        }
    }

    @Test func `a trigger sees the events right after its deployment, before the workers know of it`() async throws {
        let fixture = try await TriggersFixture.shared()
        var app = TriggerApp(functions: ["count": Self.counting], triggers: ["Message": "count"])
        try await fixture.deployUnannounced(app)
        let counters = fixture.store.collection("Counter", database: "Test", app: app.id)
        _ = try await fixture.store.collection("Message", database: "Test", app: app.id).insertOne(
            ["_id": 1, "to": "ann"])
        try await eventually("the first is counted", within: patience) {
            try await counters.findOne(["_id": "ann"])?["count"] == 1
        }
        // So is one of a trigger that a later version adds.
        app.triggers["Letter"] = "count"
        try await fixture.deployUnannounced(app)
        _ = try await fixture.store.collection("Letter", database: "Test", app: app.id).insertOne(
            ["_id": 1, "to": "ann"])
        try await eventually("the second is counted", within: patience) {
            try await counters.findOne(["_id": "ann"])?["count"] == 2
        }
    }

    @Test func `a trigger doesn't run for events from before its deployment that still wait`() async throws {
        let fixture = try await TriggersFixture.shared()
        var app = TriggerApp(functions: ["count": Self.counting], triggers: ["Letter": "count"])
        try await fixture.deploy(app)
        let messages = fixture.store.collection("Message", database: "Test", app: app.id)
        let counters = fixture.store.collection("Counter", database: "Test", app: app.id)
        _ = try await messages.insertOne(["_id": 1, "to": "ann", "text": "before"])
        let before = try #require(try await fixture.lastChange(of: app, collection: "Message"))
        app.triggers["Message"] = "count"
        try await fixture.deploy(app)
        try await fixture.events.send(before)
        // Those of a document are in order.
        _ = try await messages.deleteOne(["_id": 1])
        _ = try await messages.insertOne(["_id": 1, "to": "ann", "text": "after"])
        try await eventually("the later one is counted", within: patience) {
            try await counters.findOne(["_id": "ann"])?["last"] == "after"
        }
        #expect(try await counters.findOne(["_id": "ann"])?["count"] == 1)
    }

    @Test func `a run that is repeated doesn't repeat the writes of the run before it`() async throws {
        let fixture = try await TriggersFixture.shared()
        // Throws after its write, each time.
        let app = TriggerApp(
            functions: [
                "stumble": """
                exports = async function (event) {
                    const database = context.services.get("mongodb-atlas").db("Test");
                    await database.collection("Counter").updateOne({_id: "n"}, {$inc: {count: 1}}, {upsert: true});
                    throw new Error("stumbled");
                };
                """
            ], triggers: ["Message": "stumble"])
        try await fixture.deploy(app)
        _ = try await fixture.store.collection("Message", database: "Test", app: app.id).insertOne(["_id": "first"])
        let letter = try await eventually("the dead letter", within: patience) {
            fixture.deadLetters(of: app).first
        }
        #expect(letter.attempts == 3)
        let counters = fixture.store.collection("Counter", database: "Test", app: app.id)
        #expect(try await counters.findOne(["_id": "n"])?["count"]?.intValue == 1)
    }

    @Test func `a run that is repeated has the same random bytes`() async throws {
        let fixture = try await TriggersFixture.shared()
        let app = TriggerApp(
            functions: [
                "stumble": """
                exports = async function (event) {
                    const _id = require("crypto").randomBytes(16).toString("hex");
                    const counters = context.services.get("mongodb-atlas").db("Test").collection("Counter");
                    await counters.updateOne({_id}, {$inc: {count: 1}}, {upsert: true});
                    throw new Error("stumbled");
                };
                """
            ], triggers: ["Message": "stumble"])
        try await fixture.deploy(app)
        _ = try await fixture.store.collection("Message", database: "Test", app: app.id).insertOne(["_id": "first"])
        let letter = try await eventually("the dead letter", within: patience) {
            fixture.deadLetters(of: app).first
        }
        #expect(letter.attempts == 3)
        #expect(letter.error.code == "FunctionExecutionError")
        let counters = try await fixture.store.collection("Counter", database: "Test", app: app.id).find([:])
        #expect(counters.map { $0["count"]?.intValue } == [1])
    }

    @Test func `an event on which the match fails becomes a dead letter, and the next one runs`() async throws {
        let fixture = try await TriggersFixture.shared()
        let app = TriggerApp(
            functions: ["count": Self.counting], triggers: ["Message": "count"],
            match: #"{"$expr": {"$gt": [{"$divide": [12, "$fullDocument.share"]}, 0]}}"#)
        try await fixture.deploy(app)
        let messages = fixture.store.collection("Message", database: "Test", app: app.id)
        let counters = fixture.store.collection("Counter", database: "Test", app: app.id)
        _ = try await messages.insertOne(["_id": "first", "to": "ann", "share": 0])
        let letter = try await eventually("the dead letter", within: patience) {
            fixture.deadLetters(of: app).first
        }
        #expect(letter.error.code == "match-failed")
        #expect(letter.event["fullDocument"]?["_id"] == "first")
        _ = try await messages.insertOne(["_id": "second", "to": "ann", "share": 3])
        try await eventually("the second message is counted", within: patience) {
            try await counters.findOne(["_id": "ann"])?["count"]?.intValue == 1
        }
    }

    @Test func `old records are removed, recent ones stay`() async throws {
        let fixture = try await TriggersFixture.shared()
        let app = "test-" + ObjectId().hexString
        try await fixture.postgres.execute(
            """
            insert into partita.function_logs (at, app, function, level, message)
            select now() - age, $1, 'f', 'info', age::text from unnest('{1 day, 8 days}'::interval[]) age
            """, [.text(app)])
        try await fixture.postgres.execute(
            """
            insert into partita.handled_event_ids (consumer, event_id, handled_at)
            select 'trigger-workers', $1 || age::text, now() - age from unnest('{30 days, 32 days}'::interval[]) age
            """, [.text(app)])
        try await fixture.postgres.execute(
            """
            insert into partita.trigger_failures (app, trigger, event_id, event, code, message, attempts, failed_at, replayed_at)
            select $1, 't', coalesce(age::text, 'waiting'), '{}', 'c', 'm', 1, now() - interval '99 days', now() - age
            from unnest('{30 days, 32 days, null}'::interval[]) age
            """, [.text(app)])
        try await fixture.postgres.execute(
            """
            insert into partita.trigger_missed_events (app, trigger, event_id, time, missed_at)
            select $1, 't', age::text, 0, now() - age from unnest('{30 days, 32 days}'::interval[]) age
            """, [.text(app)])
        try await makeRetention(fixture).sweep()
        let logs = try await fixture.postgres.query(
            "select message from partita.function_logs where app = $1", [.text(app)])
        #expect(try logs.decode(String.self) == ["1 day"])
        let ids = try await fixture.postgres.query(
            "select event_id from partita.handled_event_ids where starts_with(event_id, $1)", [.text(app)])
        #expect(try ids.decode(String.self) == [app + "30 days"])
        for (table, left) in [("trigger_failures", ["30 days", "waiting"]), ("trigger_missed_events", ["30 days"])] {
            let rows = try await fixture.postgres.query(
                "select event_id from partita.\(table) where app = $1 order by event_id", [.text(app)])
            #expect(try rows.decode(String.self) == left)
        }
    }

    @Test func `the latest log lines of an app are kept, up to the limit`() async throws {
        let fixture = try await TriggersFixture.shared()
        let app = "lines-\(UUID().uuidString)", other = app + "-other"
        // More than one statement deletes at a time.
        for (name, count) in [(app, 10_003), (other, 2)] {
            try await fixture.postgres.execute(
                """
                insert into partita.function_logs (at, app, function, level, message)
                select now() - make_interval(secs => i), $1, 'f', 'info', i::text from generate_series(1, $2::int) i
                """, [.text(name), .int(Int64(count))])
        }
        var retention = makeRetention(fixture)
        retention.linesOfApp = 5000  // more than other tests write
        try await retention.sweep()
        for (name, left) in [(app, 5000), (other, 2)] {
            let lines = try await fixture.postgres.query(
                "select message from partita.function_logs where app = $1 order by at desc", [.text(name)])
            #expect(try lines.decode(String.self) == (1...left).map { "\($0)" })
        }
    }

    private func makeRetention(_ fixture: TriggersFixture, lettersOfApp: Int = 100_000) -> TriggerRetention {
        TriggerRetention(client: fixture.postgres, logger: Logger(label: "test"), lettersOfApp: lettersOfApp)
    }

    @Test func `the latest dead letters of an app are kept, up to the limit`() async throws {
        let fixture = try await TriggersFixture.shared()
        let app = "letters-\(UUID().uuidString)", other = app + "-other"
        for (name, count) in [(app, 5003), (other, 2)] {
            try await fixture.postgres.execute(
                """
                insert into partita.trigger_failures (app, trigger, event_id, event, code, message, attempts)
                select $1, 't', i::text, '{}', 'c', 'm', 1 from generate_series(1, $2::int) i
                """, [.text(name), .int(Int64(count))])
        }
        // Isn't counted, since nobody waits for it any more.
        try await fixture.postgres.execute(
            """
            insert into partita.trigger_failures (app, trigger, event_id, event, code, message, attempts, replayed_at)
            values ($1, 't', 'replayed', '{}', 'c', 'm', 1, now())
            """, [.text(app)])
        // A run that is over; its dead letter is one of those that go.
        try await fixture.postgres.execute(
            "insert into partita.handled_event_ids (consumer, event_id) values ('trigger-workers', $1 || '/t/1')",
            [.text(app)])
        try await fixture.postgres.execute(
            """
            insert into partita.trigger_journal (app, trigger, event, ordinal, digest, result)
            values ($1, 't', '1', 1, 'd', 'r')
            """, [.text(app)])
        let dropped = TriggerMetrics.droppedDeadLetters.value
        try await makeRetention(fixture, lettersOfApp: 5000).sweep()
        #expect(TriggerMetrics.droppedDeadLetters.value == dropped + 3)
        let latest: [String] = (4...5003).map { "\($0)" }
        for (name, left) in [(app, latest + ["replayed"]), (other, ["1", "2"])] {
            let rows = try await fixture.postgres.query(
                "select event_id from partita.trigger_failures where app = $1 order by id", [.text(name)])
            #expect(try rows.decode(String.self) == left)
        }
        let journal = try await fixture.postgres.query(
            "select from partita.trigger_journal where app = $1", [.text(app)])
        #expect(journal.isEmpty)
    }

    @Test func `a function whose write the database can't take now waits, without a dead letter`()
        async throws
    {
        let fixture = try await TriggersFixture.shared()
        let app = TriggerApp(functions: ["count": Self.counting], triggers: ["Message": "count"])
        try await fixture.deploy(app)
        // Fails as with a full disk, when a run records what it did.
        try await fixture.postgres.withTransaction { transaction in
            try await transaction.runScript(
                """
                create or replace function public.full_disk() returns trigger language plpgsql as
                $$ begin raise exception 'no space' using errcode = '53100'; end $$;
                create trigger full_disk before insert on partita.trigger_journal
                    for each row when (new.app = '\(app.id)') execute function public.full_disk();
                """)
        }
        let messages = fixture.store.collection("Message", database: "Test", app: app.id)
        let counters = fixture.store.collection("Counter", database: "Test", app: app.id)
        _ = try await messages.insertOne(["_id": "first", "to": "ann"])
        // More attempts than a function that throws gets.
        try await Task.sleep(for: .seconds(3))
        #expect(try await counters.findOne(["_id": "ann"]) == nil)
        #expect(fixture.deadLetters(of: app).isEmpty)
        _ = try await fixture.postgres.query("drop trigger full_disk on partita.trigger_journal")
        try await eventually("the count", within: patience) {
            try await counters.findOne(["_id": "ann"])?["count"]?.intValue == 1
        }
        #expect(fixture.deadLetters(of: app).isEmpty)
    }

    @Test func `an event whose function fails becomes a dead letter, and the next event runs`() async throws {
        let fixture = try await TriggersFixture.shared()
        let app = TriggerApp(
            functions: [
                "choose": """
                exports = async function (event) {
                    if (event.fullDocument.bad) {
                        throw new Error("no good");
                    }
                    await context.services.get("mongodb-atlas").db("Test").collection("Good").insertOne({_id: event.fullDocument._id});
                };
                """
            ], triggers: ["Message": "choose"])
        try await fixture.deploy(app)
        let messages = fixture.store.collection("Message", database: "Test", app: app.id)
        _ = try await messages.insertOne(["_id": "bad", "bad": true])
        _ = try await messages.insertOne(["_id": "good"])
        let good = fixture.store.collection("Good", database: "Test", app: app.id)
        try await eventually("the next event's write", within: patience) {
            try await good.findOne(["_id": "good"]) != nil
        }
        let letter = try await eventually("the dead letter", within: patience) {
            fixture.deadLetters(of: app).first
        }
        #expect(letter.trigger == "onMessage")
        #expect(letter.error.code == "FunctionExecutionError")
        #expect(letter.error.message.contains("no good"))
        #expect(letter.error.function == "choose")
        #expect(letter.error.line == 3)
        let rows = try await eventually("the row") {
            let rows = try await fixture.postgres.query(
                "select code, line, attempts from partita.trigger_failures where app = $1", [.text(app.id)])
            return rows.isEmpty ? nil : try rows.decode((String, Int32, Int32).self)
        }
        #expect(rows.count == 1)
        #expect(rows.first?.0 == "FunctionExecutionError")
        #expect(rows.first?.1 == 3)
    }
}
