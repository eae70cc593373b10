import Dispatch
import EventLoop
import Testing

@Suite struct ExecutorTests {
    @Test func `a thread executor runs its actor on its thread, and what is enqueued before its end`() async {
        let executor = ThreadExecutor(name: "test-thread")
        let actor = Pinned(executor)
        await withTaskGroup(of: Void.self) { group in
            for _ in 0..<100 { group.addTask { await actor.increment() } }
        }
        #expect(await actor.count == 100)
        executor.stop()
    }

    @Test func `what runs on the queue of a queue executor may enter its actor`() async {
        let executor = QueueExecutor(label: "test")
        let actor = Queued(executor)
        await actor.increment()
        let count = await withUnsafeContinuation { continuation in
            executor.queue.async { continuation.resume(returning: actor.assumeIsolated { $0.count }) }
        }
        #expect(count == 1)
    }
}

@Suite struct TimeoutTests {
    @Test func `what is done in time is returned`() async throws {
        #expect(try await withTimeout(.seconds(10)) { 7 } == 7)
    }

    @Test func `what takes too long is cancelled and reported`() async {
        await #expect(throws: TimeoutError(duration: .milliseconds(5))) {
            try await withTimeout(.milliseconds(5)) { try await Task.sleep(for: .seconds(60)) }
        }
    }

    @Test func `an error of the body is thrown unchanged`() async {
        struct Failure: Error {}
        await #expect(throws: Failure.self) { try await withTimeout(.seconds(10)) { throw Failure() } }
    }

    @Test func `a result that comes in spite of the cancellation isn't lost`() async throws {
        let value = try await withTimeout(.milliseconds(5)) {
            do { try await Task.sleep(for: .seconds(60)) } catch is CancellationError {}
            return 7
        }
        #expect(value == 7)
    }

    @Test func `cancelling the caller is no timeout`() async {
        let task = Task { try await withTimeout(.seconds(60)) { try await Task.sleep(for: .seconds(60)) } }
        task.cancel()
        await #expect(throws: CancellationError.self) { try await task.value }
    }
}

actor Pinned {
    private let executor: ThreadExecutor
    private(set) var count = 0

    nonisolated var unownedExecutor: UnownedSerialExecutor { executor.asUnownedSerialExecutor() }

    init(_ executor: ThreadExecutor) { self.executor = executor }

    func increment() {
        executor.checkIsolated()
        count += 1
    }
}

actor Queued {
    private let executor: QueueExecutor
    private(set) var count = 0

    nonisolated var unownedExecutor: UnownedSerialExecutor { executor.asUnownedSerialExecutor() }

    init(_ executor: QueueExecutor) { self.executor = executor }

    func increment() { count += 1 }
}
