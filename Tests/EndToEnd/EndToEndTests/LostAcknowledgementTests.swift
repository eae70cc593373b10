import DocumentModel
import PartitaClient
import TestSupport
import Testing

extension EndToEnd {
    /// Promise 1: lost acknowledgements apply nothing twice.
    struct LostAcknowledgementTests {
        @Test func `an increment whose acknowledgement is lost is applied once`() async throws {
            let system = try await RunningSystem.shared()
            let ada = try await TestDevice.register("ada", on: system)
            let conversation = try await ada.beginConversation()
            for round in 1...5 {
                ada.transport.loseAcknowledgements(2)
                try await increment(ada, conversation)
                try await ada.own.waitForUploads()
                #expect(ada.transport.lostAcknowledgements == 2 * round)
                #expect(TestDevice.unread(try await ada.userRow(), conversation.id) == round)
            }
            try await isShown(5, on: ada, conversation)
            try await ada.close()
        }

        @Test func `increments are applied once when the connection is cut right after them`() async throws {
            let system = try await RunningSystem.shared()
            let ada = try await TestDevice.register("ada", on: system)
            let conversation = try await ada.beginConversation()
            for _ in 1...15 {
                try await increment(ada, conversation)
                await ada.session.goOffline()
                await ada.session.goOnline()
            }
            try await ada.own.waitForUploads()
            #expect(TestDevice.unread(try await ada.userRow(), conversation.id) == 15)
            try await isShown(15, on: ada, conversation)
            try await ada.close()
        }

        private func increment(_ device: TestDevice, _ conversation: TestConversation) async throws {
            try await device.own.write {
                $0.update(
                    "User", id: .string(device.session.userId), ["$inc": ["conversations.$[c].unreadCount": .int64(1)]],
                    arrayFilters: [["c.id": .string(conversation.id)]])
            }
        }

        /// On the device as well, once it has downloaded what it wrote.
        private func isShown(_ count: Int, on device: TestDevice, _ conversation: TestConversation) async throws {
            try await eventually("the device shows \(count)", within: patience) {
                guard try await device.own.pending().isEmpty else { return false }
                return TestDevice.unread(try await device.user(), conversation.id) == count
            }
        }
    }
}
