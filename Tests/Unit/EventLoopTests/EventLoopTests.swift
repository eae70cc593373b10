import EventLoop
import Glibc
import Testing

@Suite struct EventLoopTests {
    @Test func `work from one thread runs in its order on the loop's thread`() async {
        let loop = EventLoop(name: "test")
        let order = Locked<[Int]>([])
        for number in 0..<1000 {
            loop.execute {
                loop.assertInLoop()
                order.withLock { $0.append(number) }
            }
        }
        await loop.flushed()
        #expect(order.withLock { $0 } == Array(0..<1000))
        #expect(await loop.shutDown())
    }

    @Test func `an actor of a loop runs on its thread`() async {
        let loop = EventLoop(name: "test")
        let counter = LoopCounter(loop)
        await withTaskGroup(of: Void.self) { group in
            for _ in 0..<100 { group.addTask { await counter.increment() } }
        }
        #expect(await counter.count == 100)
        #expect(await loop.shutDown())
    }

    @Test func `a loop wakes up for work from elsewhere and for its own timers`() async {
        let loop = EventLoop(name: "test")
        let counter = LoopCounter(loop)
        for _ in 0..<200 { await counter.increment() }
        let start = ContinuousClock.now
        await loop.sleep(ms: 20)
        #expect(ContinuousClock.now - start >= .milliseconds(15))
        #expect(await loop.shutDown())
    }

    @Test func `what a timer enqueues doesn't wait for the next event`() async {
        let loop = EventLoop(name: "test")
        let start = ContinuousClock.now
        await withUnsafeContinuation { (continuation: UnsafeContinuation<Void, Never>) in
            loop.execute {
                let slot = Slot<LoopTimer>()
                let timer = LoopTimer(loop) {
                    slot.value?.close()
                    slot.value = nil
                    loop.execute { continuation.resume() }
                }
                slot.value = timer
                timer.start(ms: 1)
            }
        }
        // No other event comes, so it would wait for ever. The time is long for the sake of a busy machine.
        #expect(ContinuousClock.now - start < .seconds(60))
        #expect(await loop.shutDown())
    }

    @Test func `a watcher of a connection that was reset sees its last bytes, and then its end`() async throws {
        let loop = EventLoop(name: "test")
        var ends: [Int32] = [0, 0]
        try #require(socketpair(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0, &ends) == 0)
        // Unread data at the other end turns its close into a reset.
        try #require(write(ends[0], "unread", 6) == 6)
        try #require(write(ends[1], "last words", 10) == 10)
        close(ends[1])
        #expect(try await readAll(ends[0], on: loop) == "last words")
        #expect(await loop.shutDown())
    }

    @Test func `a watcher sees a descriptor become readable and its end`() async throws {
        let loop = EventLoop(name: "test")
        var descriptors: [Int32] = [0, 0]
        try #require(pipe(&descriptors) == 0)
        let (reading, writing) = (descriptors[0], descriptors[1])
        async let received = readAll(reading, on: loop)
        for part in ["abc", "def"] {
            _ = part.withCString { write(writing, $0, 3) }
            await loop.flushed()
        }
        close(writing)
        #expect(try await received == "abcdef")
        #expect(await loop.shutDown())
    }

    @Test func `what is marked dirty is flushed once before the loop polls`() async {
        let loop = EventLoop(name: "test")
        let flushes = await withUnsafeContinuation { continuation in
            loop.execute {
                let batch = Batch()
                for _ in 0..<10 { batch.add(on: loop) }
                Task(executorPreference: loop.taskExecutor) {
                    await loop.flushed()
                    continuation.resume(returning: batch.flushes)
                }
            }
        }
        #expect(flushes == [10])
        #expect(await loop.shutDown())
    }

    private actor Diary: LoopActor {
        nonisolated let loop: EventLoop
        private(set) var entries: [String] = []
        init(_ loop: EventLoop) { self.loop = loop }

        func write(_ entry: String) { entries.append(entry) }

        func writeInParts() async {
            entries.append("begin")
            await withUnsafeContinuation { (continuation: UnsafeContinuation<Void, Never>) in
                entries.append("continuation")
                continuation.resume()
            }
            await writeLater()
        }

        private func writeLater() async { entries.append("call") }
    }

    @Test(arguments: [false, true]) func `calls within an actor aren't interleaved`(isPreferring: Bool) async {
        let loop = EventLoop(name: "test")
        let diary = Diary(loop)
        // Both are in the loop's queue before the first of them begins.
        let tasks = await withUnsafeContinuation { (continuation: UnsafeContinuation<[Task<Void, Never>], Never>) in
            loop.execute {
                let preference = isPreferring ? loop.taskExecutor : nil
                continuation.resume(returning: [
                    Task(executorPreference: preference) { await diary.writeInParts() },
                    Task(executorPreference: preference) { await diary.write("other") },
                ])
                usleep(20_000)
            }
        }
        for task in tasks { await task.value }
        let entries = await diary.entries
        #expect(entries.filter { $0 != "other" } == ["begin", "continuation", "call"])
        #expect(entries.first == "other" || entries.last == "other")
        #expect(await loop.shutDown())
    }

    @Test func `sleep is ended by cancellation`() async {
        let loop = EventLoop(name: "test")
        let task = Task { try await loop.sleep(for: .seconds(60)) }
        await loop.flushed()
        task.cancel()
        await #expect(throws: CancellationError.self) { try await task.value }
        #expect(await loop.shutDown())
    }

    @Test func `a loop waits for a signal`() async {
        let loop = EventLoop(name: "test")
        async let signalled: Void = loop.waitForSignal(SIGUSR1)
        await Task.yield()
        while await !loop.isWatching { await Task.yield() }
        kill(getpid(), SIGUSR1)
        await signalled
        #expect(await loop.shutDown())
    }

    @Test func `the load measures how long the loop was busy`() async {
        let loop = EventLoop(name: "test")
        loop.execute { usleep(30_000) }
        await loop.flushed()
        #expect(loop.load.lag >= .milliseconds(30))
        #expect(loop.load.busy >= .milliseconds(30))
        // A loop that other processes delay counts as busy, so one idle period of several is enough.
        var rests: [Duration] = []
        while rests.count < 50, !rests.contains(where: { $0 < .milliseconds(20) }) {
            let before = loop.load.busy
            await loop.sleep(ms: 30)
            rests.append(loop.load.busy - before)
        }
        #expect(rests.contains { $0 < .milliseconds(20) }, "\(rests)")
        #expect(await loop.shutDown())
    }

    @Test func `shutting down waits for the owners of handles, to the limit`() async {
        let group = LoopGroup(2, name: "test")
        #expect(group.next() !== group.next())
        let loop = group.loops[0]
        let slot = Unchecked(Slot<LoopTimer>())
        loop.execute { slot.value.value = LoopTimer(loop) {} }
        await loop.flushed()
        async let clean = group.shutDown(within: .seconds(10))
        loop.execute { slot.value.value?.close() }
        #expect(await clean)

        let other = EventLoop(name: "test")
        other.execute { slot.value.value = LoopTimer(other) {} }
        #expect(await other.shutDown(within: .milliseconds(10)) == false)
        _ = Unmanaged.passRetained(slot.value)  // its timer can't be closed any more
    }
}

actor LoopCounter: LoopActor {
    nonisolated let loop: EventLoop
    private(set) var count = 0

    init(_ loop: EventLoop) { self.loop = loop }

    func increment() {
        precondition(loop.inLoop)
        count += 1
    }
}

/// Used on one loop only.
final class Slot<Value> {
    var value: Value?
}

/// `@unchecked Sendable`: its contents are used on one loop only.
struct Unchecked<Value>: @unchecked Sendable {
    let value: Value

    init(_ value: Value) { self.value = value }
}

/// `@unchecked Sendable`: used on one loop only.
final class Batch: TickFlushable, @unchecked Sendable {
    private var waiting = 0
    private(set) var flushes: [Int] = []

    func add(on loop: EventLoop) {
        if waiting == 0 { loop.markDirty(self) }
        waiting += 1
    }

    func flushTick() {
        flushes.append(waiting)
        waiting = 0
    }
}

extension EventLoop {
    var isWatching: Bool {
        get async {
            await withUnsafeContinuation { continuation in
                execute { continuation.resume(returning: self.openHandles > 0) }
            }
        }
    }
}

private func readAll(_ descriptor: Int32, on loop: EventLoop) async throws -> String {
    try await withUnsafeThrowingContinuation { (continuation: UnsafeContinuation<String, any Error>) in
        loop.execute {
            let slot = Slot<FDWatcher>()
            var bytes: [UInt8] = []
            do {
                let watcher = try FDWatcher(loop, fd: descriptor) { ready in
                    precondition(ready.contains(.read))
                    var buffer = [UInt8](repeating: 0, count: 64)
                    let count = read(descriptor, &buffer, buffer.count)
                    if count > 0 {
                        bytes += buffer.prefix(count)
                        return
                    }
                    slot.value?.close()
                    slot.value = nil
                    close(descriptor)
                    continuation.resume(returning: String(decoding: bytes, as: UTF8.self))
                }
                slot.value = watcher
                watcher.set(.read)
            } catch {
                continuation.resume(throwing: error)
            }
        }
    }
}
