import AppDefinition
import AppDeployment
import DocumentModel
import EventStream
import Foundation
import Postgres
import SyncEngine
import Testing

/// What an operator sees and does about the triggers of an app.
struct DeployedTriggersTests {
    private static func trigger(on collection: String, isDisabled: Bool) -> String {
        """
        {"name": "t", "type": "DATABASE", "function_name": "f", "disabled": \(isDisabled), "config": {
         "service_name": "mongodb-atlas", "database": "d", "collection": "\(collection)", "operation_types": ["INSERT"]}}
        """
    }

    @Test func `a dead letter stays when the present version has no trigger that would run`() async throws {
        try await DeploymentWorld.with { world in
            func deploy(_ collection: String?, isDisabled: Bool = false) async throws {
                var more = ["functions/config.json": #"[{"name": "f"}]"#, "functions/f.js": "exports = () => 1;"]
                more["triggers/t.json"] = collection.map { Self.trigger(on: $0, isDisabled: isDisabled) }
                _ = try await world.deployments.deploy(DeploymentWorld.files(more: more))
            }
            try await deploy("C")
            _ = try await world.client.query(
                """
                create table partita.trigger_failures (
                    id bigint, app text, trigger text, event_id text, event text, code text, message text, function text,
                    line bigint, attempts bigint, failed_at timestamptz default now(), replayed_at timestamptz,
                    replay_begun_at timestamptz)
                """)
            let revision = Revision(epoch: 1, number: 1)
            let change = ChangeEvent(
                app: "life", namespace: .init(database: "d", collection: "C"), operationType: .insert, documentKey: 1,
                partition: Partition(text: "s:p"), revision: revision, incarnation: revision, fullDocument: ["_id": 1],
                clusterTime: Timestamp(seconds: 1, increment: 1), wallTime: 0)
            try await world.client.execute(
                """
                insert into partita.trigger_failures (id, app, trigger, event_id, event, code, message, attempts)
                values (7, 'life', 't', 'e', $1, 'c', 'm', 3)
                """, [.text(ExtendedJSON.print(change.encoded()))])
            for (collection, isDisabled, code) in [
                (nil, false, DeploymentError.Code.triggerUnknown), ("Other", false, .triggerState),
                ("C", true, .triggerState),
            ] {
                try await deploy(collection, isDisabled: isDisabled)
                let refusal = await #expect(throws: DeploymentError.self) {
                    try await world.deployments.replayDeadLetter(7, of: "life")
                }
                #expect(refusal?.code == code, "\(String(describing: refusal))")
                #expect(
                    try await world.deployments.deadLetters(of: "life", trigger: nil, after: 0, limit: 9).count == 1)
            }
        }
    }

    @Test func `a trigger begins with the first of the versions that have it for the same events`() async throws {
        try await DeploymentWorld.with { world in
            func deploy(_ collection: String?, isDisabled: Bool = false, _ number: Int = 0) async throws -> Int64 {
                var more = [
                    "functions/config.json": #"[{"name": "f"}]"#, "functions/f.js": "exports = () => \(number);",
                ]
                more["triggers/t.json"] = collection.map { Self.trigger(on: $0, isDisabled: isDisabled) }
                try await Task.sleep(for: .milliseconds(2))  // no two deployments of one millisecond
                let app = try #require(try await world.deployments.deploy(DeploymentWorld.files(more: more)).app)
                let loaded = try #require(try await world.registry.load("life"))
                #expect(loaded.version == app.version)
                let (beginning, stored) = (app.beginning(of: "t"), loaded.beginning(of: "t"))
                #expect(beginning == stored)
                return stored
            }
            let first = try await deploy("C")
            #expect(try await deploy("C", 1) == first)
            let other = try await deploy("D")
            #expect(other > first)
            #expect(try await deploy("D", isDisabled: true) == .min)
            let enabled = try await deploy("D")
            #expect(enabled > other)
            _ = try await deploy(nil)
            let back = try await deploy("D")
            #expect(back > enabled)
            _ = try await world.registry.remove("life")
            #expect(try await deploy("D") > back)
            // One that was deployed before the beginning was recorded.
            try await world.client.execute("update partita.app_versions set trigger_beginnings = '{}'")
            #expect(try await deploy("D", 2) == .min)
        }
    }

    @Test func `a version that ends a trigger for which changes wait warns of that`() async throws {
        try await DeploymentWorld.with { world in
            try await HandledEvents.migrations.apply(on: world.client)
            func warnings(_ name: String, on collection: String, isDisabled: Bool = false) async throws -> [String] {
                let files = DeploymentWorld.files(more: [
                    "functions/config.json": #"[{"name": "f"}]"#, "functions/f.js": "exports = () => 1;",
                    "triggers/t.json": Self.trigger(on: collection, isDisabled: isDisabled)
                        .replacing(#""name": "t""#, with: #""name": "\#(name)""#),
                ])
                var dry = AppDeployments.Options()
                dry.isDryRun = true
                let tried = try await world.deployments.deploy(files, dry).warnings.filter { $0.contains("wait for") }
                let deployed = try await world.deployments.deploy(files).warnings.filter { $0.contains("wait for") }
                #expect(tried == deployed)
                return deployed
            }
            #expect(try await warnings("t", on: "C").isEmpty)
            #expect(try await warnings("u", on: "C").isEmpty)
            try await world.client.execute(
                "insert into partita.partitions (app, partition, epoch, head) values ('life', 's:p', 1, 7)")
            try await HandledEvents(consumer: "trigger-workers").record(
                [1, 2, 4].map {
                    (.init(app: "life", partition: Partition(text: "s:p")), Revision(epoch: 1, number: $0))
                },
                on: world.client)
            #expect(try await world.deployments.changesBeforeTriggers(of: "life") == 4)
            let renamed = try await warnings("t", on: "C")
            #expect(renamed.count == 1 && renamed.first?.contains("4 changes") == true, "\(renamed)")
            #expect(renamed.first?.contains("this version has no u ") == true, "\(renamed)")
            #expect(try await warnings("t", on: "D").count == 1)
            #expect(try await warnings("t", on: "D").isEmpty)
            #expect(try await warnings("t", on: "D", isDisabled: true).count == 1)
            #expect(try await warnings("t", on: "D").isEmpty)
        }
    }

    @Test func `a trigger's state has its next run, or what it misses during a pause`() async throws {
        try await DeploymentWorld.with { world in
            let trigger = #""function_name": "f", "config""#
            _ = try await world.deployments.deploy(
                DeploymentWorld.files(more: [
                    "functions/config.json": #"[{"name": "f"}]"#, "functions/f.js": "exports = () => 1;",
                    "triggers/s.json": #"{"name": "s", "type": "SCHEDULED", \#(trigger): {"schedule": "*/5 * * * *"}}"#,
                    "triggers/off.json":
                        #"{"name": "off", "type": "SCHEDULED", "disabled": true, \#(trigger): {"schedule": "0 3 * * *"}}"#,
                    "triggers/u.json":
                        #"{"name": "u", "type": "AUTHENTICATION", \#(trigger): {"operation_type": "LOGIN"}}"#,
                ]))
            func states() async throws -> [ExactText: AppDeployments.TriggerState] {
                let states = try await world.deployments.triggers(of: "life")
                return Dictionary(states.map { (ExactText($0.name), $0) }) { first, _ in first }
            }
            // The service of triggers hasn't started yet.
            let before = try await states()
            let now = Int64(Date().timeIntervalSince1970 * 1000)
            let next = try #require(before["s"]?.nextRun)
            #expect(next % 300_000 == 0 && (now - 60_000...now + 300_000).contains(next))
            #expect(before["off"]?.nextRun == nil && before["u"]?.nextRun == nil && before["u"]?.missedEvents == nil)
            _ = try await world.client.query(
                "create table partita.trigger_missed_events (app text, trigger text, place bigint)")
            _ = try await world.client.query(
                "insert into partita.trigger_missed_events values ('life', 'u', 1), ('life', 'u', 2), ('other', 'u', 3)"
            )
            for name in ["s", "u"] { try await world.deployments.pauseTrigger(name, of: "life") }
            let paused = try await states()
            #expect(paused["u"]?.missedEvents == 2 && paused["s"]?.missedEvents == 0)
            #expect(paused["s"]?.nextRun == nil)

            // A version without the trigger: what waits for it is still shown, and isn't dropped.
            _ = try await world.deployments.deploy(DeploymentWorld.files())
            let gone = try #require(try await states()["u"])
            #expect(gone.missedEvents == 2 && gone.state.contains("not in this version"))
            let refusal = await #expect(throws: DeploymentError.self) {
                try await world.deployments.resumeTrigger("u", of: "life")
            }
            #expect(refusal?.code == .triggerState && refusal?.message.contains("2 events wait for u") == true)
            #expect(try await states()["u"]?.missedEvents == 2)
        }
    }
}
