import EventLoop
import Lifecycle
import Testing

@Suite struct BackgroundTasksTests {
    @Test func `work runs beside other work, and a shutdown waits for what is running`() async throws {
        let background = BackgroundTasks()
        let done = Locked<[String]>([])
        let (started, start) = AsyncStream.makeStream(of: Void.self)
        background.add {
            start.yield()
            try? await Task.sleep(for: .milliseconds(200))
            done.withLock { $0.append("slow") }
        }
        background.add { done.withLock { $0.append("fast") } }
        try await testGracefulShutdown { trigger in
            async let run: Void = background.run()
            for await _ in started { break }
            trigger.triggerGracefulShutdown()
            try await run
        }
        #expect(done.withLock { Set($0) } == ["fast", "slow"])
        #expect(done.withLock { $0.last } == "slow")
    }

    @Test func `a cancellation cancels the work`() async throws {
        let background = BackgroundTasks()
        let wasCancelled = Locked(false)
        let (started, start) = AsyncStream.makeStream(of: Void.self)
        background.add {
            start.yield()
            do { try await Task.sleep(for: .seconds(60)) } catch { wasCancelled.withLock { $0 = true } }
        }
        let run = Task { try await background.run() }
        for await _ in started { break }
        run.cancel()
        try await run.value
        #expect(wasCancelled.withLock { $0 })
    }
}
