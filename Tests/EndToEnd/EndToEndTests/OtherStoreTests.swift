import ChildProcesses
import Foundation
import LocalEngines
import TestSupport
import Testing

extension EndToEnd {
    /// A second `media-offload` whose setting names another directory than the first one's.
    struct OtherStoreTests {
        @Test func `an instance with another store isn't ready, moves nothing, and what it got is moved after it`()
            async throws
        {
            let system = try await RunningSystem.shared()
            let other = "\(system.directory)/other-media"
            let ada = try await TestDevice.register("ada", on: system)
            let talk = try await ada.open(try await ada.beginConversation())
            let port = try LocalPort.free()
            let second = try system.startSecond("media-offload", port: port, ["PARTITA_MEDIA_DIRECTORY": other])
            try await eventually("it says that the store is another one", within: patience) {
                if let status = second.exitStatus { throw SystemFailure(description: "it ended: \(status)") }
                let (status, text) = await system.readiness("http://127.0.0.1:\(port)")
                return status == 503 && text.contains("media-store") && text.contains(".partita-store")
            }
            // Of several documents, so that some of the jobs are in the second one's partitions of the topic.
            let ids = (0..<12).map { "photo \($0) \(UUID().uuidString)" }
            for (number, id) in ids.enumerated() {
                _ = try await ada.send([UInt8](repeating: UInt8(number), count: 20_000), id: id, to: talk)
            }
            #expect(await second.terminate(grace: .seconds(30)) == .exited(0))
            for id in ids {
                let link = try await eventually("\(id) is a link", within: patience) {
                    try await ada.link(ofPicture: id, in: talk)
                }
                let client = HTTPCaller(root: "", system: system)
                let opened = try await client.get(link, token: try await ada.accessToken(on: system))
                #expect(opened.status == 200 && opened.body.count == 20_000)
            }
            #expect(!FileManager.default.fileExists(atPath: other))
            try await ada.close()
        }
    }
}
