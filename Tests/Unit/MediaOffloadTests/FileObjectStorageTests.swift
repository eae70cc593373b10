import EventLoop
import Foundation
import Glibc
import Testing

@testable import MediaOffload

struct FileObjectStorageTests {
    @Test func `a stored object is returned unchanged, until it is deleted`() async throws {
        let directory = FileManager.default.temporaryDirectory.appendingPathComponent(UUID().uuidString).path
        defer { try? FileManager.default.removeItem(atPath: directory) }
        let storage = FileObjectStorage(directory: directory)
        // Without the directory its contents are unknown.
        await #expect(throws: ObjectStorageError.self) { try await storage.get("abc/def") }
        try await storage.check()
        #expect(try await storage.get("abc/def") == nil)
        try await storage.put("abc/def", [1, 2, 3], contentType: "image/png")
        try await storage.put("abc/def", [1, 2, 3], contentType: "image/png")
        #expect(try await storage.get("abc/def") == [1, 2, 3])
        try await storage.delete("abc/def")
        try await storage.delete("abc/def")
        #expect(try await storage.get("abc/def") == nil)
    }

    private struct Unsynced: Error {}

    @Test func `an object is durable with the names of all folders that it is in`() async throws {
        let root = FileManager.default.temporaryDirectory.appendingPathComponent(UUID().uuidString).path
        defer { try? FileManager.default.removeItem(atPath: root) }
        #expect(mkdir(root, 0o700) == 0)
        let synced = Locked<[String]>([]), failing = Locked<String?>(nil)
        func storage() -> FileObjectStorage {
            FileObjectStorage(directory: root + "/store/media") { path in
                if failing.withLock({ $0 }) == path { throw Unsynced() }
                synced.withLock { $0.append(path.replacing(root, with: "")) }
            }
        }
        /// The directories that storing an object has synced; without a key, checking the store.
        func syncs(_ storage: FileObjectStorage, _ key: String?) async throws -> [String] {
            if let key { try await storage.put(key, [1], contentType: "") } else { try await storage.check() }
            return synced.withLock { paths in
                defer { paths = [] }
                return paths
            }
        }
        let (first, second) = (storage(), storage())
        let (media, app, ab, cd) = ("/store/media", "/store/media/app", "/store/media/app/ab", "/store/media/app/cd")
        #expect(try await syncs(first, nil) == ["", "/store"])
        #expect(try await syncs(first, "app/ab/1") == [media, app, ab])
        #expect(try await syncs(first, "app/ab/2") == [ab])
        #expect(try await syncs(first, "app/cd/1") == [app, cd])
        // Another process can't know what the one before it has done to the end.
        #expect(try await syncs(second, "app/ab/3") == [media, app, ab])
        #expect(try await syncs(second, "mark") == [media])
        // A folder whose name couldn't be made durable isn't taken for durable by the next attempt.
        failing.withLock { $0 = root + media }
        for _ in 0..<2 { await #expect(throws: Unsynced.self) { try await syncs(second, "other/ab/1") } }
        failing.withLock { $0 = nil }
        #expect(try await syncs(second, "other/ab/1") == [media, "/store/media/other", "/store/media/other/ab"])
        // Nor one that is made again.
        try FileManager.default.removeItem(atPath: root + app)
        #expect(try await syncs(second, "app/ab/4") == [media, app, ab])
    }

    @Test func `a directory that can't be made is an error that names it`() async throws {
        let error = await #expect(throws: (any Error).self) {
            try await FileObjectStorage(directory: "/proc/none").put("abc", [1], contentType: "image/png")
        }
        #expect("\(error.map { "\($0)" } ?? "")".contains("/proc/none"))
    }
}
