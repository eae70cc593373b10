import DocumentModel
import Foundation
import Glibc
import SyncEngine
import SyncProtocol
import TestSupport
import Testing

extension EndToEnd {
    /// What a device can make a gateway hold.
    struct GatewayMemoryTests {
        private static let bytes = 6 << 20

        @Test func `a device that sends faster than Postgres commits isn't read, and loses nothing`() async throws {
            let system = try await RunningSystem.shared()
            let ada = try await TestDevice.register("ada", on: system)
            let talk = try await ada.open(try await ada.beginConversation())
            let raw = try await RawDevice.connect(system)
            try await raw.greet(try await ada.accessToken(on: system))
            raw.send(.subscribe(partition: talk.partition, checkpoint: Revision(epoch: 1, number: 0)))
            try await raw.wait("the partition") { if case .subscribed = $0 { true } else { false } }
            try await upload(1, to: talk.partition, by: raw, author: ada.email)
            try await acknowledged([1], raw)

            let postgres = try system.pid(of: "postgres")
            let frozen = [postgres] + (try CrashTests.children(of: postgres))
            let before = try residentBytes(system)
            for process in frozen { kill(process, SIGSTOP) }
            let versions = 2...17 as ClosedRange<Int64>
            for version in versions { try await upload(version, to: talk.partition, by: raw, author: ada.email) }
            try await Task.sleep(for: .seconds(3))
            let growth = try residentBytes(system) - before
            for process in frozen.reversed() { kill(process, SIGCONT) }
            #expect(growth < 60 << 20, "the gateway holds \(growth >> 20) MiB more")
            try await acknowledged(Set(versions), raw)
            #expect(!raw.isClosed)
            raw.close()
            try await ada.close()
        }

        @Test func `values that are far larger than their text are counted by what they take`() async throws {
            let system = try await RunningSystem.shared()
            let ada = try await TestDevice.register("ada", on: system)
            let talk = try await ada.open(try await ada.beginConversation())
            let token = try await ada.accessToken(on: system)
            var devices: [RawDevice] = []
            for _ in 0..<12 {
                let raw = try await RawDevice.connect(system)
                try await raw.greet(token)
                raw.send(.subscribe(partition: talk.partition, checkpoint: Revision(epoch: 1, number: 0)))
                try await raw.wait("the partition") { if case .subscribed = $0 { true } else { false } }
                devices.append(raw)
            }
            let postgres = try system.pid(of: "postgres")
            let frozen = [postgres] + (try CrashTests.children(of: postgres))
            let before = try residentBytes(system)
            for process in frozen { kill(process, SIGSTOP) }
            // 2.8 MB of text.
            let values = Value.array(Array(repeating: ["a": 1], count: 400_000))
            for raw in devices {
                try await upload(1, to: talk.partition, by: raw, author: ada.email, more: values)
            }
            // Longer than it takes to receive them all: nothing outside of the gateway tells that it has, since it can't answer.
            try await Task.sleep(for: .seconds(5))
            let growth = try residentBytes(system) - before
            for process in frozen.reversed() { kill(process, SIGCONT) }
            #expect(growth < 450 << 20, "the gateway holds \(growth >> 20) MiB more")
            // The others are told to send it again later.
            let refused = devices.count { raw in
                raw.frames.contains { if case .error(let report) = $0 { report.code == .unavailable } else { false } }
            }
            #expect(refused > 0 && refused < devices.count, "\(refused)")
            for raw in devices { raw.close() }
            try await system.waitUntilReady()
            try await ada.close()
        }

        private func upload(
            _ version: Int64, to partition: Partition, by raw: RawDevice, author: String, more: Value? = nil
        ) async throws {
            var message: Document = [
                "_id": .string(UUID().uuidString), "partition": partition.value ?? .null,
                "text": .string(more == nil ? String(repeating: "x", count: Self.bytes) : "x"),
                "author": .string(author), "timestamp": .date(0),
            ]
            message["more"] = more
            let now = Int64(Date().timeIntervalSince1970 * 1000)
            let changeset = Changeset(
                version: version, clock: HybridTime(milliseconds: now, counter: 0),
                operations: [
                    Operation(collection: "ChatMessage", id: message["_id"] ?? .null, kind: .insert(message))
                ])
            raw.send(.upload(.init(partition: partition, sentAt: now, changesets: [changeset])))
        }

        private func acknowledged(_ versions: Set<Int64>, _ raw: RawDevice) async throws {
            try await eventually("all is acknowledged", within: .seconds(60)) {
                versions.isSubset(
                    of: raw.frames.compactMap { if case .ack(let ack) = $0 { ack.version } else { nil } })
            }
        }

        /// The memory that the gateway has beside what other processes share.
        private func residentBytes(_ system: RunningSystem) throws -> Int {
            let status = try String(
                contentsOfFile: "/proc/\(try system.pid(of: "sync-gateway"))/status", encoding: .utf8)
            let line = status.split(separator: "\n").first { $0.hasPrefix("RssAnon:") }
            let kibibytes = line?.split(whereSeparator: { $0 == " " || $0 == "\t" }).dropFirst().first.flatMap {
                Int($0)
            }
            return try #require(kibibytes) * 1024
        }
    }
}
