import AWSSigning
import EventLoop
import Testing

@testable import MediaOffload

struct StorageBreakerTests {
    /// A store that fails as it is told to.
    final class Failing: ObjectStorage {
        enum Kind: CaseIterable { case put, delete, read }

        let failing: Locked<Set<Kind>>

        init(_ kinds: Set<Kind>) { failing = Locked(kinds) }

        private func call(_ kind: Kind) throws {
            if failing.withLock({ $0.contains(kind) }) { throw ObjectStorageError(code: .disk, message: "\(kind)") }
        }
        func check() async throws { try call(.read) }
        func put(_ key: String, _ bytes: [UInt8], contentType: String) async throws { try call(.put) }
        func get(_ key: String) async throws -> [UInt8]? {
            try call(.read)
            return nil
        }
        func size(of key: String) async throws -> Int? {
            try call(.read)
            return nil
        }
        func delete(_ key: String) async throws { try call(.delete) }
        func signedURL(_ method: String, _ key: String, lifetime: Duration, now: AWSSignature.Instant) -> String? {
            nil
        }
    }

    private static let hour = Duration.seconds(3600)

    private func call(_ kind: Failing.Kind, of breaker: StorageBreaker) async throws {
        switch kind {
        case .put: try await breaker.put("a", [], contentType: "")
        case .delete: try await breaker.delete("a")
        case .read: _ = try await breaker.size(of: "a")
        }
    }

    @Test(arguments: [true, false])
    func `after a failure no call is admitted for a while`(putting: Bool) async throws {
        let breaker = StorageBreaker(Failing([.read]), first: Self.hour, limit: Self.hour)
        try await breaker.admit(putting: putting)
        await #expect(throws: ObjectStorageError.self) { try await breaker.get("a") }
        await #expect(throws: ObjectStorageError.self) {
            try await breaker.admit(putting: putting, patience: .milliseconds(1))
        }
    }

    @Test(arguments: Failing.Kind.allCases)
    func `only a success of the same kind ends a failure`(kind: Failing.Kind) async throws {
        let store = Failing([kind])
        let breaker = StorageBreaker(store, first: .milliseconds(1), limit: Self.hour)
        try breaker.checkWrites()
        // So many that nobody is admitted for minutes.
        for _ in 0..<22 { await #expect(throws: ObjectStorageError.self) { try await call(kind, of: breaker) } }
        for other in Failing.Kind.allCases where other != kind { try await call(other, of: breaker) }
        var refused: String?
        do { try breaker.checkWrites() } catch { refused = error.message }
        #expect(refused == (kind == .read ? nil : "\(kind)"))
        await #expect(throws: ObjectStorageError.self) { try await breaker.admit(putting: true) }
        try breaker.checkWrites(within: .zero)

        store.failing.withLock { $0 = [] }
        try await call(kind, of: breaker)
        try breaker.checkWrites()
        for _ in 0..<3 { try await breaker.admit(putting: true) }
    }

    @Test func `what stores nothing doesn't wait for a store that refuses new objects`() async throws {
        let breaker = StorageBreaker(Failing([.put]), first: Self.hour, limit: Self.hour)
        await #expect(throws: ObjectStorageError.self) { try await breaker.put("a", [], contentType: "") }
        for _ in 0..<3 { try await breaker.admit(putting: false) }
        await #expect(throws: ObjectStorageError.self) { try await breaker.admit(putting: true) }
    }

    @Test(.timeLimit(.minutes(1)))
    func `a failure that nobody repeats is forgotten`() async throws {
        let breaker = StorageBreaker(Failing([.put]), first: .milliseconds(20), limit: .milliseconds(20))
        await #expect(throws: ObjectStorageError.self) { try await breaker.put("a", [], contentType: "") }
        // The callers have nothing to store. Two of them are admitted at the same time only when it is forgotten.
        while true {
            try await breaker.admit(putting: true, patience: Self.hour)
            do { return try await breaker.admit(putting: true) } catch is ObjectStorageError { continue }
        }
    }
}
