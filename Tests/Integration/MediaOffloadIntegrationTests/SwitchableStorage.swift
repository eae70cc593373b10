import AWSSigning
import EventLoop

@testable import MediaOffload

/// An object store that can be switched off, and that records its calls.
final class SwitchableStorage: ObjectStorage {
    struct State {
        var isAway = false
        var refusals = 0
        var puts: [String] = []
        /// The keys whose sizes were asked for.
        var looks: [String] = []
        /// Runs once, before the next object is kept.
        var beforePut: (@Sendable () async throws -> Void)?
    }

    private let storage: FileObjectStorage
    let state = Locked(State())

    init(directory: String) { storage = FileObjectStorage(directory: directory) }

    func check() async throws {
        try refuseIfAway()
        try await storage.check()
    }

    func put(_ key: String, _ bytes: [UInt8], contentType: String) async throws {
        try refuseIfAway()
        let hook = state.withLock { state in
            defer { state.beforePut = nil }
            state.puts.append(key)
            return state.beforePut
        }
        try await hook?()
        try await storage.put(key, bytes, contentType: contentType)
    }

    func get(_ key: String) async throws -> [UInt8]? {
        try refuseIfAway()
        return try await storage.get(key)
    }

    func size(of key: String) async throws -> Int? {
        try refuseIfAway()
        state.withLock { $0.looks.append(key) }
        return try await storage.size(of: key)
    }

    func delete(_ key: String) async throws {
        try refuseIfAway()
        try await storage.delete(key)
    }

    func signedURL(_ method: String, _ key: String, lifetime: Duration, now: AWSSignature.Instant) -> String? { nil }

    private func refuseIfAway() throws {
        let isAway = state.withLock { state in
            if state.isAway { state.refusals += 1 }
            return state.isAway
        }
        if isAway { throw ObjectStorageError(code: .unreachable, message: "switched off by the test") }
    }
}
