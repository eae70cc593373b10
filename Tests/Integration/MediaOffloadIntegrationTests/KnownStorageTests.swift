import EventLoop
import Foundation
import Logging
import Postgres
import ServiceEngines
import TestSupport
import Testing

@testable import MediaOffload

/// Stores of a system that has its media in one of them.
@Suite struct KnownStorageTests {
    private static let loops = LoopGroup(1)

    private func withClient(_ body: @Sendable (PostgresClient) async throws -> Void) async throws {
        let url = try await TestEngines.shared().makeDatabase()
        try await PostgresClient.withClient(PostgresConfiguration(url: url), on: Self.loops) { client in
            try await MediaOffloadMigrations.all.apply(on: client)
            try await body(client)
        }
    }

    private func directory() throws -> String {
        let path = FileManager.default.temporaryDirectory.appendingPathComponent("known-\(UUID().uuidString)").path
        try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
        return path
    }

    /// An instance whose settings name this directory.
    private func instance(_ directory: String, _ client: PostgresClient, acceptsOther: Bool = false) -> KnownStorage {
        KnownStorage(
            FileObjectStorage(directory: directory), client: client, acceptsOther: acceptsOther,
            logger: Logger(label: "known-storage"))
    }

    private func refusal(of storage: KnownStorage) async -> ObjectStorageError.Code? {
        await #expect(throws: ObjectStorageError.self) { try await storage.refuseForeign() }?.code
    }

    @Test func `an instance with another store touches neither, until that has a copy of the media`() async throws {
        try await withClient { client in
            let first = try directory(), second = try directory()
            try await instance(first, client).put("app/ab/abcd", [1, 2, 3], contentType: "image/png")
            let other = instance(second, client)
            #expect(await refusal(of: other) == .foreign)
            for operation: () async throws -> Void in [
                { try await other.put("app/ab/abce", [4], contentType: "image/png") },
                { _ = try await other.get("app/ab/abcd") }, { try await other.delete("app/ab/abcd") },
                { _ = try await other.signedURL("GET", "app/ab/abcd", lifetime: .seconds(1), now: .init(Date())) },
                { try await other.check() },
            ] {
                let error = await #expect(throws: ObjectStorageError.self) { try await operation() }
                #expect(error?.code == .foreign)
            }
            #expect(try FileManager.default.contentsOfDirectory(atPath: second).isEmpty)
            // The same directory under another name, and instances that start again.
            try FileManager.default.createSymbolicLink(atPath: second + "/same", withDestinationPath: first)
            #expect(try await instance(second + "/same", client).get("app/ab/abcd") == [1, 2, 3])
            try FileManager.default.removeItem(atPath: second)
            try FileManager.default.copyItem(atPath: first, toPath: second)
            #expect(try await other.get("app/ab/abcd") == [1, 2, 3])
        }
    }

    @Test func `of instances that start at the same time with different stores, one has the system's`() async throws {
        try await withClient { client in
            let directories = try (0..<6).map { _ in try directory() }
            let refused = try await withThrowingTaskGroup { group in
                for directory in directories + directories {
                    let storage = instance(directory, client)
                    group.addTask { () -> String? in
                        do { try await storage.verify() } catch let error as ObjectStorageError
                            where error.code == .foreign
                        {
                            return directory
                        }
                        return nil
                    }
                }
                return try await group.reduce(into: Set<String?>()) { $0.insert($1) }.compactMap(\.self)
            }
            #expect(refused.count == 5)
        }
    }

    @Test func `what an earlier version has stored tells the store`() async throws {
        try await withClient { client in
            let used = try directory(), empty = try directory()
            try await FileObjectStorage(directory: used).put("app/ab/abcd-1", [1], contentType: "image/png")
            try await client.execute(
                """
                insert into partita.media_objects (app, digest, object, size, content_type, is_stored)
                values ('app', 'abcd', 'app/ab/abcd-1', 1, 'image/png', true)
                """)
            #expect(await refusal(of: instance(empty, client)) == .foreign)
            try await instance(used, client).verify()
            try await instance(used, client).refuseForeign()
            #expect(await refusal(of: instance(empty, client)) == .foreign)
        }
    }

    private func stored(_ object: String, _ client: PostgresClient) async throws {
        try await client.execute(
            """
            insert into partita.media_objects (app, digest, object, size, content_type, is_stored)
            values ('app', $1, $1, 1, 'image/png', true)
            """, [.text(object)])
    }

    @Test func `a former store, which lacks what was stored last, isn't the system's any more`() async throws {
        try await withClient { client in
            let former = try directory(), new = try directory()
            try await instance(former, client).put("app/ab/0", [1], contentType: "image/png")
            try await stored("app/ab/0", client)
            try FileManager.default.removeItem(atPath: new)
            try FileManager.default.copyItem(atPath: former, toPath: new)
            for object in ["app/ab/1", "app/ab/2", "app/ab/3"] {
                // Until then some of what was stored last may be lost.
                try await instance(former, client).refuseForeign()
                try await instance(new, client).put(object, [2], contentType: "image/png")
                try await stored(object, client)
            }
            #expect(await refusal(of: instance(former, client)) == .foreign)
            try await instance(new, client).refuseForeign()
        }
    }

    @Test func `after a loss, a store is accepted that lacks the media`() async throws {
        try await withClient { client in
            let lost = try directory(), new = try directory()
            try await instance(lost, client).put("app/ab/abcd", [1], contentType: "image/png")
            try await stored("app/ab/abcd", client)
            #expect(await refusal(of: instance(new, client)) == .foreign)
            try await instance(new, client, acceptsOther: true).verify()
            // For good, also before anything else is stored.
            try await instance(new, client).put("app/ab/abce", [2], contentType: "image/png")
            try await stored("app/ab/abce", client)
            #expect(try await instance(new, client).get("app/ab/abce") == [2])
            #expect(await refusal(of: instance(lost, client)) == .foreign)
        }
    }

    @Test func `a store that can't be reached isn't taken for another one`() async throws {
        try await withClient { client in
            let storage = SwitchableStorage(directory: try directory())
            storage.state.withLock { $0.isAway = true }
            let known = KnownStorage(
                storage, client: client, acceptsOther: false, logger: Logger(label: "known-storage"))
            try await known.refuseForeign()
            let error = await #expect(throws: ObjectStorageError.self) { try await known.check() }
            #expect(error?.code == .unreachable)
            storage.state.withLock { $0.isAway = false }
            try await known.check()
        }
    }
}
