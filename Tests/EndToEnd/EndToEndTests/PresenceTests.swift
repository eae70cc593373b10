import DocumentModel
import Glibc
import PartitaClient
import TestSupport
import Testing

extension EndToEnd {
    /// Promise 6: presence is right within TTL + 1 s.
    struct PresenceTests {
        @Test func `after kill -9 of the gateway only users who don't reconnect go offline, and in time`()
            async throws
        {
            try await replaceGateway(SIGKILL)
        }

        @Test func `users who reconnect after a restart of the gateway stay online`() async throws {
            try await replaceGateway(SIGTERM)
        }

        /// Ada reconnects, Ben doesn't: once his flip has arrived, hers would have, too.
        private func replaceGateway(_ signal: Int32) async throws {
            let system = try await RunningSystem.shared()
            let ada = try await TestDevice.register("ada", on: system)
            let ben = try await TestDevice.register("ben", on: system)
            for device in [ada, ben] { try await waitFor("On-Line", of: device, within: .seconds(20), on: system) }
            let changes = try await ada.userChanges()

            let old = try system.pid(of: "sync-gateway")
            try system.kill("sync-gateway", signal)
            let start = ContinuousClock.now
            for await state in await ben.session.connectionStates() where state != .online { break }
            await ben.session.goOffline()
            try await waitFor("Off-Line", of: ben, within: RunningSystem.presenceTTL + .seconds(1), on: system)
            let time = ContinuousClock.now - start
            print("Off-Line \(time.formatted(.units(allowed: [.milliseconds]))) after the gateway's end")
            #expect(time <= RunningSystem.presenceTTL + .seconds(1))

            try await system.waitUntilReplaced("sync-gateway", old)
            #expect(try await presence(of: ada) == "On-Line")
            #expect(try await ada.userChanges() == changes, "nothing was written to the document of who came back")
            await ben.session.goOnline()
            try await waitFor("On-Line", of: ben, within: .seconds(20), on: system)
            try await ada.close()
            try await ben.close()
        }

        private func presence(of device: TestDevice) async throws -> String? {
            try await device.userRow()["presence"]?.stringValue
        }

        private func waitFor(
            _ expected: String, of device: TestDevice, within limit: Duration, on system: RunningSystem
        ) async throws {
            do {
                try await eventually("\(device.email) is \(expected)", within: limit) {
                    try await presence(of: device) == expected
                }
            } catch {
                throw SystemFailure(description: "\(error)\n\(system.logEnds())")
            }
        }
    }
}
