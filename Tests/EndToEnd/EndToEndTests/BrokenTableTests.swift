import Foundation
import TestSupport
import Testing

extension EndToEnd {
    /// A collection's table is broken under a running system, and repaired later.
    struct BrokenTableTests {
        @Test func `a broken table delays only its own changesets, which commit once it is repaired`() async throws {
            let system = try await RunningSystem.shared()
            let ada = try await TestDevice.register("ada", on: system)
            let ben = try await TestDevice.register("ben", on: system)
            let talk = try await ada.beginConversation(with: [ben])
            let here = try await ada.open(talk)
            try await ada.send("hello", to: here)
            // While the table is broken, nothing can be read from it, and what isn't read stays pending.
            try await eventually("the device has what it wrote") { try await here.pending().isEmpty }
            let log = "\(system.directory)/logs/sync-gateway.log"
            let begin = try Data(contentsOf: URL(fileURLWithPath: log)).count
            _ = try await system.query(#"alter table "rchat/RChat"."ChatMessage" rename to elsewhere"#)
            do {
                let id = try await ada.send("this waits", to: here)
                try await eventually("the log names the table", within: patience) {
                    let text = String(
                        decoding: try Data(contentsOf: URL(fileURLWithPath: log)).dropFirst(begin), as: UTF8.self)
                    return text.split(separator: "\n").contains {
                        $0.contains(#""level":"error""#) && $0.contains("ChatMessage") && $0.contains("42P01")
                    }
                }
                // The device's other partition, and another device, go on meanwhile.
                for device in [ada, ben] {
                    try await device.own.write {
                        $0.update(
                            "User", id: .string(device.session.userId),
                            ["$set": ["userPreferences.displayName": "Goes on"]])
                    }
                    try await device.own.waitForUploads()
                }
                let pending = try await here.pending()
                #expect(pending.count == 1, "pending: \(pending)")
                _ = try await system.query(#"alter table "rchat/RChat".elsewhere rename to "ChatMessage""#)
                try await eventually("it is committed", within: .seconds(90)) {
                    try await talk.rows().keys.contains("s:" + id)
                }
                try await eventually("it is answered", within: patience) { try await here.pending().isEmpty }
                #expect(try await here.rejected().isEmpty)
            } catch {
                // The other tests need it; what went wrong is the error below.
                _ = try? await system.query(#"alter table if exists "rchat/RChat".elsewhere rename to "ChatMessage""#)
                throw error
            }
            try await ada.close()
            try await ben.close()
        }
    }
}
