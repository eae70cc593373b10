import DocumentModel
import EventStream
import Foundation
import Kafka
import PartitaClient
import TestSupport
import Testing

extension EndToEnd {
    /// Deleted topics are created again automatically, with their contents.
    struct LostTopicTests {
        @Test(.needsRealBroker) func `topics deleted under a running system are created again, and nothing is lost`()
            async throws
        {
            let system = try await RunningSystem.shared()
            let ada = try await TestDevice.register("ada", on: system)
            let ben = try await TestDevice.register("ben", on: system)
            let talk = try await ada.beginConversation(with: [ben])
            let adas = try await ada.open(talk), bens = try await ben.open(talk)
            let admin = KafkaAdmin(
                configuration: KafkaConfiguration(bootstrapServers: try system.setting("kafka.bootstrap")))
            let names = TopicOwner.topics(pool: "main").map(\.name)
            try await admin.deleteTopics(names)
            for round in 0..<5 { try await ada.send("while they are gone: \(round)", to: adas) }
            try await eventually("they are there again", within: patience) {
                Set(try await admin.topicNames()).isSuperset(of: names)
            }
            await admin.close()
            try await adas.waitForUploads()
            try await talk.waitUntilSame(bens)
            // Permissions decide, triggers run and devices hear of it, with what came since and with what was there before.
            let next = try await ben.beginConversation(with: [ada])
            let opened = try await ada.open(next)
            try await ada.send("as before", to: opened)
            try await next.waitUntilSame(try await ben.open(next))
            try await talk.waitUntilSame(try await ada.open(talk))
            for service in RunningSystem.services {
                try await eventually("\(service) has nothing to complain of", within: patience) {
                    let (status, text) = await system.readiness(system.url(of: service))
                    return status == 200 && !text.contains("notReady")
                }
            }
            let log = try String(contentsOfFile: "\(system.directory)/logs/auth.log", encoding: .utf8)
            #expect(log.contains("topics are missing") && log.contains("partita.main.document-changes"))
            // A service that starts now gets everything that it needs from the new topics.
            let old = try system.pid(of: "sync-gateway")
            try system.kill("sync-gateway", SIGKILL)
            // Until then it is the supervisor's time, which waits longer after the kills of other tests.
            try await eventually("the gateway is started again", within: .seconds(60)) {
                try system.pid(of: "sync-gateway") != old
            }
            let start = ContinuousClock.now
            try await system.waitUntilReady()
            let cid = try await TestDevice.register("cid", on: system)
            #expect(ContinuousClock.now - start < .seconds(30), "a gateway without keys lets nobody in")
            try await cid.close()
            for device in [ada, ben] { try await device.close() }
        }
    }
}
