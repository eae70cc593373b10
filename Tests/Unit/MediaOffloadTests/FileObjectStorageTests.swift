import Foundation
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

    @Test func `a directory that can't be made is an error that names it`() async throws {
        let error = await #expect(throws: (any Error).self) {
            try await FileObjectStorage(directory: "/proc/none").put("abc", [1], contentType: "image/png")
        }
        #expect("\(error.map { "\($0)" } ?? "")".contains("/proc/none"))
    }
}
