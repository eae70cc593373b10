import AWSSigning
import EventLoop

/// A circuit breaker in front of the object store: jobs call `admit` before they start, so that in an outage of hours only a probe
/// is sent from time to time, instead of reading every waiting photo from Postgres again and again.
final class StorageBreaker: ObjectStorage {
    private struct State {
        var failures = 0
        /// Until then no caller is admitted; after it one caller at a time, at growing intervals, until a call succeeds.
        var closedUntil: ContinuousClock.Instant?
        var last: (error: ObjectStorageError, at: ContinuousClock.Instant)?
    }

    private let storage: any ObjectStorage
    /// The wait after the first failure, which doubles up to `limit`.
    private let first: Duration
    private let limit: Duration
    private let state = Locked(State())

    init(_ storage: any ObjectStorage, first: Duration = .milliseconds(100), limit: Duration = .seconds(10)) {
        self.storage = storage
        self.first = first
        self.limit = limit
    }

    /// Returns when the store may be called.
    /// - Parameter patience: How long to wait for that, at most.
    /// - Throws: ``ObjectStorageError`` when it may not be called by then; `CancellationError`.
    func admit(patience: Duration = .zero) async throws {
        let end = ContinuousClock.now + patience
        while let next = nextAdmission() {
            guard next < end else {
                throw ObjectStorageError(
                    code: .leftAlone, message: "it has just failed, and isn't called for a while")
            }
            try await Task.sleep(until: next)
        }
    }

    /// When the next caller is admitted; `nil` when this caller is admitted now.
    private func nextAdmission() -> ContinuousClock.Instant? {
        let now = ContinuousClock.now
        return state.withLock { state in
            guard let end = state.closedUntil else { return nil }
            guard now >= end else { return end }
            state.closedUntil = now + delay(state.failures)
            return nil
        }
    }

    /// - Throws: the last failure within this time, unless a call has succeeded since.
    func checkFailures(within time: Duration = .seconds(15)) throws(ObjectStorageError) {
        if let last = state.withLock({ $0.last }), last.at + time > .now { throw last.error }
    }

    func check() async throws { try await watching { try await $0.check() } }

    func put(_ key: String, _ bytes: [UInt8], contentType: String) async throws {
        try await watching { try await $0.put(key, bytes, contentType: contentType) }
    }

    func get(_ key: String) async throws -> [UInt8]? { try await watching { try await $0.get(key) } }

    func part(_ key: String, _ range: Range<Int>) async throws -> [UInt8]? {
        try await watching { try await $0.part(key, range) }
    }

    func size(of key: String) async throws -> Int? { try await watching { try await $0.size(of: key) } }

    func delete(_ key: String) async throws { try await watching { try await $0.delete(key) } }

    func signedURL(
        _ method: String, _ key: String, lifetime: Duration, now: AWSSignature.Instant
    ) async throws -> String? {
        // Not watched: it says nothing of whether the store answers.
        try await storage.signedURL(method, key, lifetime: lifetime, now: now)
    }

    private func watching<R>(_ body: (any ObjectStorage) async throws -> R) async throws -> R {
        do {
            let result = try await body(storage)
            state.withLock { $0 = State() }
            return result
        } catch let error as ObjectStorageError {
            state.withLock { state in
                state.failures += 1
                state.last = (error, .now)
                state.closedUntil = ContinuousClock.now + delay(state.failures)
            }
            MediaOffloadMetrics.storageFailures.increment()
            throw error
        }
    }

    private func delay(_ failures: Int) -> Duration { min(first * (1 << min(max(failures - 1, 0), 20)), limit) }
}
