import EventLoop
import Lifecycle
import Testing

@Suite struct GracefulShutdownTests {
    @Test func `gracefulShutdown waits for the trigger`() async throws {
        try await testGracefulShutdown { trigger in
            #expect(!Task.isShuttingDownGracefully)
            async let ended: Void = gracefulShutdown()
            trigger.triggerGracefulShutdown()
            try await ended
            #expect(Task.isShuttingDownGracefully)
        }
    }

    @Test func `gracefulShutdown throws when the task is cancelled`() async throws {
        let task = Task { try await gracefulShutdown() }
        task.cancel()
        await #expect(throws: CancellationError.self) { try await task.value }
    }

    @Test func `a handler runs once, also when the shutdown came before it`() async {
        let calls = Locked(0)
        await testGracefulShutdown { trigger in
            await withGracefulShutdownHandler {
                trigger.triggerGracefulShutdown()
                trigger.triggerGracefulShutdown()
            } onGracefulShutdown: {
                calls.withLock { $0 += 1 }
            }
            #expect(calls.withLock { $0 } == 1)
            await withGracefulShutdownHandler {
            } onGracefulShutdown: {
                calls.withLock { $0 += 1 }
            }
        }
        #expect(calls.withLock { $0 } == 2)
    }

    @Test func `a removed handler doesn't run`() async {
        let calls = Locked(0)
        await testGracefulShutdown { trigger in
            await withGracefulShutdownHandler {
            } onGracefulShutdown: {
                calls.withLock { $0 += 1 }
            }
            trigger.triggerGracefulShutdown()
        }
        #expect(calls.withLock { $0 } == 0)
    }

    @Test func `cancelWhenGracefulShutdown cancels the operation`() async {
        await testGracefulShutdown { trigger in
            await #expect(throws: CancellationError.self) {
                try await cancelWhenGracefulShutdown {
                    trigger.triggerGracefulShutdown()
                    try await Task.sleep(for: .seconds(60))
                }
            }
        }
    }

    @Test func `cancelWhenGracefulShutdown returns what the operation returns`() async throws {
        let value = try await testGracefulShutdown { _ in try await cancelWhenGracefulShutdown { 7 } }
        #expect(value == 7)
        #expect(try await cancelWhenGracefulShutdown { 8 } == 8)
    }
}
