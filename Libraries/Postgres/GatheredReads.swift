public import EventLoop

/// Reads a value for each key, those of many callers with one statement.
///
/// A read begins at once as long as few are under way. What is asked for meanwhile is read together by the next one: alone nobody waits,
/// and under load a statement is for many keys. A value was always read after it was asked for.
public final class GatheredReads<Key: Hashable & Sendable, Value: Sendable>: Sendable {
    private typealias Waiter = UnsafeContinuation<Value?, any Error>

    private struct State {
        var waiters: [Key: [Waiter]] = [:]
        /// The keys of `waiters`, in the order in which they were first asked for.
        var order: [Key] = []
        var running = 0
    }

    private let limit: Int
    private let concurrent: Int
    private let loop: EventLoop?
    private let read: @Sendable ([Key]) async throws -> [Key: Value]
    private let state = Locked(State())

    /// - Parameters:
    ///   - limit: The most keys of a read.
    ///   - concurrent: The most reads that are under way.
    ///   - loop: The loop on which reads run; `nil` for Swift's own threads.
    ///   - read: Reads the values; a key that it doesn't return has none.
    public init(
        limit: Int = 256, concurrent: Int = 2, on loop: EventLoop? = nil,
        read: @escaping @Sendable ([Key]) async throws -> [Key: Value]
    ) {
        self.limit = limit
        self.concurrent = concurrent
        self.loop = loop
        self.read = read
    }

    /// The value of the key; `nil` if there is none.
    /// - Throws: what the read threw. An error that the values of a key may have caused reaches only those who asked for that key.
    public func value(of key: Key) async throws -> Value? {
        try await withUnsafeThrowingContinuation { (waiter: Waiter) in
            let isDue = state.withLock { state in
                if state.waiters[key] == nil { state.order.append(key) }
                state.waiters[key, default: []].append(waiter)
                guard state.running < concurrent else { return false }
                state.running += 1
                return true
            }
            // Short: it ends when nothing waits.
            if isDue { Task(executorPreference: loop?.taskExecutor) { await self.work() } }
        }
    }

    private func work() async {
        while let batch = take() { await answer(batch) }
    }

    private func take() -> [Key: [Waiter]]? {
        state.withLock { state in
            guard !state.order.isEmpty else {
                state.running -= 1
                return nil
            }
            var batch: [Key: [Waiter]] = [:]
            for key in state.order.prefix(limit) { batch[key] = state.waiters.removeValue(forKey: key) }
            state.order.removeFirst(batch.count)
            return batch
        }
    }

    private func answer(_ batch: [Key: [Waiter]]) async {
        do {
            let values = try await read(Array(batch.keys))
            for (key, waiters) in batch { for waiter in waiters { waiter.resume(returning: values[key]) } }
        } catch let error as PostgresError where batch.count > 1 && error.mayComeFromValues {
            for (key, waiters) in batch { await answer([key: waiters]) }
        } catch {
            for waiter in batch.values.joined() { waiter.resume(throwing: error) }
        }
    }
}
