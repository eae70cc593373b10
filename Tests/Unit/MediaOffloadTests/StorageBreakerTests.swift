import AWSSigning
import Testing

@testable import MediaOffload

struct StorageBreakerTests {
    private struct Broken: ObjectStorage {
        let isBroken: Bool
        private func fail() throws {
            if isBroken { throw ObjectStorageError(code: .unreachable, message: "away") }
        }
        func check() async throws { try fail() }
        func put(_ key: String, _ bytes: [UInt8], contentType: String) async throws { try fail() }
        func get(_ key: String) async throws -> [UInt8]? { nil }
        func size(of key: String) async throws -> Int? { nil }
        func delete(_ key: String) async throws { try fail() }
        func signedURL(_ method: String, _ key: String, lifetime: Duration, now: AWSSignature.Instant) -> String? {
            nil
        }
    }

    @Test func `after a failure no call is admitted for a while`() async throws {
        let breaker = StorageBreaker(Broken(isBroken: true), first: .seconds(3600), limit: .seconds(3600))
        try await breaker.admit()
        await #expect(throws: ObjectStorageError.self) { try await breaker.put("a", [], contentType: "") }
        await #expect(throws: ObjectStorageError.self) { try await breaker.admit(patience: .milliseconds(1)) }
    }

    @Test func `after that one call is admitted, and a success admits all`() async throws {
        let breaker = StorageBreaker(Broken(isBroken: true), first: .zero, limit: .seconds(3600))
        try breaker.checkFailures()
        await #expect(throws: ObjectStorageError.self) { try await breaker.delete("a") }
        #expect(throws: ObjectStorageError.self) { try breaker.checkFailures() }
        try breaker.checkFailures(within: .zero)
        try await breaker.admit()
        _ = try await breaker.get("a")
        try breaker.checkFailures()
        for _ in 0..<3 { try await breaker.admit() }
    }
}
