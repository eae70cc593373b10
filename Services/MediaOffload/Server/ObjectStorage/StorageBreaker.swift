import AWSSigning
import EventLoop

/// A circuit breaker in front of the object store: jobs call `admit` before they start, so that in an outage of hours only a probe
/// is sent from time to time, instead of reading every waiting photo from Postgres again and again.
///
/// Each kind of call has its own state: a store whose disk is full refuses only new objects, and what it still reads and removes
/// says nothing of that.
final class StorageBreaker: ObjectStorage {
    private enum Kind: CaseIterable { case put, delete, read }

    private struct State {
        let failures: Int
        /// Until then no caller is admitted; after it one caller at a time, at growing intervals, until a call of this kind
        /// succeeds.
        var closedUntil: ContinuousClock.Instant
        let last: (error: ObjectStorageError, at: ContinuousClock.Instant)
    }

    private let storage: any ObjectStorage
    /// The wait after the first failure, which doubles up to `limit`.
    private let first: Duration
    private let limit: Duration
    private let states = Locked<[Kind: State]>([:])

    init(_ storage: any ObjectStorage, first: Duration = .milliseconds(100), limit: Duration = .seconds(10)) {
        self.storage = storage
        self.first = first
        self.limit = limit
    }

    /// Returns when the store may be called.
    /// - Parameters:
    ///   - putting: Whether the caller may have objects to store; others don't wait for a store that only refuses new ones.
    ///   - patience: How long to wait for that, at most.
    /// - Throws: ``ObjectStorageError`` when it may not be called by then; `CancellationError`.
    func admit(putting: Bool, patience: Duration = .zero) async throws {
        let end = ContinuousClock.now + patience
        while let next = nextAdmission(to: putting ? Kind.allCases : [.delete, .read]) {
            guard next < end else {
                throw ObjectStorageError(
                    code: .leftAlone, message: "it has just failed, and isn't called for a while")
            }
            try await Task.sleep(until: next)
        }
    }

    /// When the next caller is admitted; `nil` when this caller is admitted now.
    private func nextAdmission(to kinds: [Kind]) -> ContinuousClock.Instant? {
        let now = ContinuousClock.now
        return states.withLock { states in
            // Callers that were admitted since an old failure had no call of this kind to make: it would hold up others for good.
            for kind in kinds { if let last = states[kind]?.last, last.at + limit * 2 < now { states[kind] = nil } }
            if let end = kinds.compactMap({ states[$0]?.closedUntil }).max(), end > now { return end }
            for kind in kinds {
                if let state = states[kind] { states[kind]?.closedUntil = now + delay(state.failures) }
            }
            return nil
        }
    }

    /// - Throws: the last failure to store or remove an object within this time, unless the same has succeeded since.
    func checkWrites(within time: Duration = .seconds(15)) throws(ObjectStorageError) {
        let last = states.withLock { [$0[.put]?.last, $0[.delete]?.last].compactMap(\.self).max { $0.at < $1.at } }
        if let last, last.at + time > .now { throw last.error }
    }

    func check() async throws { try await watching(.read) { try await $0.check() } }

    func put(_ key: String, _ bytes: [UInt8], contentType: String) async throws {
        try await watching(.put) { try await $0.put(key, bytes, contentType: contentType) }
    }

    func get(_ key: String) async throws -> [UInt8]? { try await watching(.read) { try await $0.get(key) } }

    func part(_ key: String, _ range: Range<Int>) async throws -> [UInt8]? {
        try await watching(.read) { try await $0.part(key, range) }
    }

    func size(of key: String) async throws -> Int? { try await watching(.read) { try await $0.size(of: key) } }

    func delete(_ key: String) async throws { try await watching(.delete) { try await $0.delete(key) } }

    func signedURL(
        _ method: String, _ key: String, lifetime: Duration, now: AWSSignature.Instant
    ) async throws -> String? {
        // Not watched: it says nothing of whether the store answers.
        try await storage.signedURL(method, key, lifetime: lifetime, now: now)
    }

    private func watching<R>(_ kind: Kind, _ body: (any ObjectStorage) async throws -> R) async throws -> R {
        do {
            let result = try await body(storage)
            states.withLock { $0[kind] = nil }
            return result
        } catch let error as ObjectStorageError {
            states.withLock { states in
                let failures = (states[kind]?.failures ?? 0) + 1, now = ContinuousClock.now
                states[kind] = State(failures: failures, closedUntil: now + delay(failures), last: (error, now))
            }
            MediaOffloadMetrics.storageFailures.increment()
            throw error
        }
    }

    private func delay(_ failures: Int) -> Duration { min(first * (1 << min(max(failures - 1, 0), 20)), limit) }
}
