import DocumentModel
import PartitaClient
import TestSupport
import Testing

extension EndToEnd {
    /// Promise 1: an acknowledged write is never lost and never applied twice; promise 2: devices converge to what Postgres has.
    struct AcknowledgedWritesTests {
        @Test(arguments: ["sync-gateway", "trigger-workers", "postgres"])
        func `writes are there exactly once after kill -9 of`(_ victim: String) async throws {
            try await writeWhileKilling(victim)
        }

        @Test(.needsRealBroker) func `writes are there exactly once after kill -9 of the broker`() async throws {
            try await writeWhileKilling("kafka")
        }

        private func writeWhileKilling(_ victim: String) async throws {
            let system = try await RunningSystem.shared()
            let ada = try await TestDevice.register("ada", on: system)
            let ben = try await TestDevice.register("ben", on: system)
            let conversation = try await ada.beginConversation(with: [ben])
            let adaTalk = try await ada.open(conversation)
            let benTalk = try await ben.open(conversation)

            var sent: [String] = []
            for number in 1...10 { sent.append(try await ada.send("before \(number)", to: adaTalk)) }
            try await adaTalk.waitForUploads()
            // These are in flight when it dies, and acknowledged before, after, or both.
            for number in 1...10 { sent.append(try await ada.send("meanwhile \(number)", to: adaTalk)) }
            let old = try system.pid(of: victim)
            try system.kill(victim)
            for number in 1...10 { sent.append(try await ben.send("after \(number)", to: benTalk)) }
            try await system.waitUntilReplaced(victim, old)
            for (device, handle) in [(ada, adaTalk), (ben, benTalk)] {
                try await eventually("\(device.email) has every answer\n\(system.logEnds())", within: patience) {
                    try await handle.pending().isEmpty
                }
                #expect(try await handle.rejected().isEmpty)
            }

            let ids = Set(sent.map { "s:" + $0 })
            #expect(Set(try await conversation.rows().keys) == ids)
            #expect(try await conversation.inserts().sorted() == ids.map { "insert " + $0 }.sorted())
            try await conversation.waitUntilSame(adaTalk)
            try await conversation.waitUntilSame(benTalk)
            try await system.check()
            try await ada.close()
            try await ben.close()
        }

        @Test func `unread messages are counted exactly through kill -9 of the trigger workers`() async throws {
            let system = try await RunningSystem.shared()
            let ada = try await TestDevice.register("ada", on: system)
            let ben = try await TestDevice.register("ben", on: system)
            let conversation = try await ada.beginConversation(with: [ben])
            let talk = try await ada.open(conversation)

            for number in 1...30 { try await ada.send("message \(number)", to: talk) }
            try await talk.waitForUploads()
            try await eventually("the triggers are in the middle of it", within: patience) {
                (TestDevice.unread(try await ben.user(), conversation.id) ?? 0) > 3
            }
            try await system.replace("trigger-workers")
            try await waitForUnread(30, of: ben, conversation, system)

            // One more, behind all the others in its topic partition: by then, an event that ran twice would be counted.
            try await ada.send("the last one", to: talk)
            try await waitForUnread(31, of: ben, conversation, system)
            #expect(TestDevice.unread(try await ben.userRow(), conversation.id) == 31)
            try await ada.close()
            try await ben.close()
        }

        private func waitForUnread(
            _ count: Int, of device: TestDevice, _ conversation: TestConversation, _ system: RunningSystem
        ) async throws {
            var last: Int?
            do {
                try await eventually("\(count) unread messages", within: patience) {
                    last = TestDevice.unread(try await device.user(), conversation.id)
                    return last == count
                }
            } catch {
                throw SystemFailure(description: "\(error); there are \(last ?? -1)\n\(system.logEnds())")
            }
        }
    }
}
