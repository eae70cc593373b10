import Cuv
import Glibc
import Synchronization

/// One thread with one libuv loop, which is a Swift executor: an actor on it, or a task that prefers it (`taskExecutor`), runs on
/// the loop's thread, between its events.
///
/// A turn of the loop runs the work that was enqueued by other threads and by the loop itself, then calls `flushTick()` of the
/// objects that were marked dirty, then polls and runs the callbacks of timers and descriptors. Work that is enqueued on the loop's
/// own thread needs no wake-up.
///
/// The thread keeps the loop alive until `stop()`. Work that is enqueued after its end never runs.
///
/// `@unchecked Sendable`: only the loop's thread accesses members that are marked "loop only", which `assertInLoop()` checks in
/// debug builds; the others are immutable, atomic or guarded by `remote`.
public final class EventLoop: SerialExecutor, @unchecked Sendable {
    private enum Work {
        /// A job of an actor on the loop.
        case job(UnownedJob)
        /// A job of a task that prefers the loop.
        case preferring(UnownedJob)
        case function(@Sendable () -> Void)
    }

    /// The state that other threads share with the loop.
    private struct Remote {
        var work: [Work] = []
        /// Whether the loop is polling, or about to: then it has to be woken.
        var isSleeping = false
        var isStopping = false
        var isForced = false
        /// Whether all handles were closed; `nil` until the loop has ended.
        var ended: Bool?
        var waitingForEnd: [UnsafeContinuation<Bool, Never>] = []
    }

    /// The maximum amount of the loop's own work in one turn, so that descriptors are polled regularly.
    private static let workPerTurn = 4096

    /// The loop's index in its group.
    public let index: Int
    /// For tasks whose code outside of actors should run on the loop, too: `Task(executorPreference: loop.taskExecutor)`.
    public let taskExecutor = LoopTaskExecutor()
    /// libuv's loop. Loop only.
    public let uv: UnsafeMutablePointer<uv_loop_t>
    let meter = LoopLoadMeter()

    private let remote = Locked(Remote())
    private let handles: LoopHandles
    /// The number of threads that are about to wake the loop.
    private let wakers = Atomic<Int>(0)
    // Written by the loop's thread before `init` returns, never again.
    private nonisolated(unsafe) var thread = pthread_t()

    // Loop only:
    private var local: [Work] = []
    private var dirty: [any TickFlushable] = []
    private var afterFlush: [UnsafeContinuation<Void, Never>] = []
    private var isInRun = false
    private var isIdling = false
    /// The number of descriptors, timers and signals that are watched on the loop. Loop only.
    public private(set) var openHandles = 0
    /// How often a blocking poll of the loop returned. Loop only.
    public private(set) var wakeups = 0

    /// Starts a loop.
    /// - Parameters:
    ///   - index: The loop's index in its group, which is appended to the thread's name.
    ///   - name: The name of its thread, cut after 15 bytes including the index.
    public init(index: Int = 0, name: String = "loop") {
        self.index = index
        uv = .allocate(capacity: 1)
        UVError.expectSuccess(uv_loop_init(uv), "can't make an event loop")
        handles = LoopHandles(uv)
        signal(SIGPIPE, SIG_IGN)  // the C libraries write without MSG_NOSIGNAL
        handles.attach(to: self)
        taskExecutor.attach(to: self)
        LoopThread.start(name: "\(name)-\(index)", began: { self.thread = pthread_self() }, body: run)
    }

    // MARK: Executor

    /// Runs an actor's job on the loop.
    public func enqueue(_ job: consuming ExecutorJob) { push(.job(UnownedJob(job))) }

    func enqueuePreferring(_ job: UnownedJob) { push(.preferring(job)) }

    /// This loop, for an actor's `unownedExecutor`.
    public func asUnownedSerialExecutor() -> UnownedSerialExecutor { UnownedSerialExecutor(ordinary: self) }

    /// Stops the process when the caller isn't on the loop's thread.
    public func checkIsolated() { precondition(inLoop, "not on the loop's thread") }

    /// Whether the caller is on the loop's thread.
    public func isIsolatingCurrentContext() -> Bool? { inLoop }

    /// Whether the caller is on the loop's thread.
    public var inLoop: Bool { pthread_equal(thread, pthread_self()) != 0 }

    /// Stops a debug build when the caller isn't on the loop's thread.
    @inline(__always)
    public func assertInLoop() { assert(inLoop, "not on the loop's thread") }

    /// Calls a function on the loop: later, never inline, in the order of the calls.
    public func execute(_ function: @escaping @Sendable () -> Void) { push(.function(function)) }

    private func push(_ work: Work) {
        if inLoop {
            local.append(work)
            dontBlock()
            return
        }
        wakeUp {
            $0.work.append(work)
        }
    }

    /// Changes the shared state, and wakes the loop if it sleeps.
    private func wakeUp(_ change: (inout Remote) -> Void) {
        let mustWake = remote.withLock { remote in
            if remote.ended != nil { return false }
            change(&remote)
            guard remote.isSleeping else { return false }
            remote.isSleeping = false
            wakers.wrappingAdd(1, ordering: .relaxed)  // before the lock is released: see end()
            return true
        }
        if mustWake {
            handles.wakeUp()
            wakers.wrappingSubtract(1, ordering: .releasing)
        }
    }

    // MARK: Loop only

    /// Requests one call of `flushTick()` before the loop polls. Loop only.
    public func markDirty(_ object: any TickFlushable) {
        assertInLoop()
        dirty.append(object)
        dontBlock()
    }

    /// The time at which the present turn began, in milliseconds of a monotonic clock. Loop only.
    public var now: UInt64 { uv_now(uv) }

    /// Waits until all data that was sent on this loop so far has been passed to the kernel.
    public func flushed() async {
        await withUnsafeContinuation { (continuation: UnsafeContinuation<Void, Never>) in
            execute { self.afterFlush.append(continuation) }
        }
    }

    func handleOpened() { openHandles += 1 }

    func handleClosed() { openHandles -= 1 }

    /// Prevents the next poll from blocking. uv_run calls timers before it polls, and work that they enqueue must not wait for the
    /// next event. An active idle handle makes the poll return immediately.
    private func dontBlock() {
        guard isInRun, !isIdling else { return }
        isIdling = true
        handles.startIdling()
    }

    private func run() {
        let serial = asUnownedSerialExecutor()
        let task = taskExecutor.asUnownedTaskExecutor()
        var batch: [Work] = []
        while true {
            meter.beginTurn()
            remote.withLock { swap(&batch, &$0.work) }
            var count = runBatch(&batch, serial, task)
            while !local.isEmpty, count < Self.workPerTurn {
                swap(&batch, &local)
                count += runBatch(&batch, serial, task)
            }
            flushDirty()
            var mayBlock = local.isEmpty
            if mayBlock {
                let (isSleeping, isStopping) = remote.withLock { remote in
                    remote.isSleeping = remote.work.isEmpty
                    return (remote.isSleeping, remote.isForced || remote.isStopping && openHandles == 0)
                }
                if isSleeping, isStopping { break }
                mayBlock = isSleeping
            }
            isInRun = true
            uv_run(uv, mayBlock ? UV_RUN_ONCE : UV_RUN_NOWAIT)
            isInRun = false
            if isIdling {
                isIdling = false
                handles.stopIdling()
            }
            if mayBlock {
                remote.withLock { $0.isSleeping = false }
                wakeups += 1
            }
        }
        end()
    }

    private func runBatch(_ batch: inout [Work], _ serial: UnownedSerialExecutor, _ task: UnownedTaskExecutor) -> Int {
        let count = batch.count
        for work in batch {
            switch work {
            // Run without a task executor preference, since the job's task has none. With one, each call within the actor would be
            // enqueued again, and other jobs would run in between.
            case .job(let job): job.runSynchronously(on: serial)
            case .preferring(let job): job.runSynchronously(isolatedTo: serial, taskExecutor: task)
            case .function(let function): function()
            }
        }
        batch.removeAll(keepingCapacity: true)
        return count
    }

    private func flushDirty() {
        while !dirty.isEmpty {
            var objects: [any TickFlushable] = []
            swap(&objects, &dirty)
            for object in objects { object.flushTick() }
        }
        if afterFlush.isEmpty { return }
        let continuations = afterFlush
        afterFlush.removeAll()
        for continuation in continuations { continuation.resume() }
    }

    // MARK: End

    /// How busy the loop is. From any thread.
    public var load: LoopLoad { meter.load }

    /// Makes the loop end as soon as nothing is enqueued and the owners of all handles have closed them. From any thread.
    public func stop() { stop(force: false) }

    /// Stops the loop and waits for its end. Must not be called on the loop.
    /// - Parameter limit: After this time the loop ends even if handles are open on it; their memory is leaked.
    /// - Returns: Whether all handles were closed.
    @discardableResult
    public func shutDown(within limit: Duration = .seconds(5)) async -> Bool {
        stop(force: false)
        return await withTaskGroup(of: Bool.self) { group in
            group.addTask { await self.ended() }
            group.addTask {
                do { try await Task.sleep(for: limit) } catch { return true }  // cancelled: the loop ended in time
                self.stop(force: true)
                return await self.ended()
            }
            let isClean = await group.next() ?? true
            group.cancelAll()
            return isClean
        }
    }

    private func stop(force: Bool) {
        wakeUp { remote in
            remote.isStopping = true
            if force { remote.isForced = true }
        }
    }

    private func ended() async -> Bool {
        await withUnsafeContinuation { continuation in
            let isClean = remote.withLock { remote -> Bool? in
                if remote.ended == nil { remote.waitingForEnd.append(continuation) }
                return remote.ended
            }
            if let isClean { continuation.resume(returning: isClean) }
        }
    }

    private func end() {
        meter.endTurn()
        let isClean = openHandles == 0
        let waiting = remote.withLock { remote in
            remote.ended = isClean
            defer { remote.waitingForEnd.removeAll() }
            return remote.waitingForEnd
        }
        if isClean {
            // From here on no thread starts to wake the loop; one that has already started still needs the handle.
            while wakers.load(ordering: .acquiring) != 0 { sched_yield() }
            handles.close()
            uv_run(uv, UV_RUN_DEFAULT)
            if uv_loop_close(uv) == 0 {
                handles.deallocate()
                uv.deallocate()
            }
        }
        for continuation in waiting { continuation.resume(returning: isClean) }
    }
}
