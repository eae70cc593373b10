import Cuv
import Glibc
import Synchronization

/// One thread with one libuv loop, which is a Swift executor: an actor on it, or a task that prefers it (`taskExecutor`), runs on
/// the loop's thread, between its events.
///
/// A turn of the loop: what was enqueued from other threads and from the loop itself, then `flushTick()` of what was
/// marked dirty, then the poll with the callbacks of timers and descriptors. Work that is enqueued from the loop's own
/// thread wakes nobody.
///
/// The thread keeps the loop alive until `stop()`. What is enqueued after its end never runs.
///
/// `@unchecked Sendable`: what is named "loop only" is touched by the loop's thread alone, `assertInLoop()` checks it in
/// debug builds; the rest is immutable, atomic or behind `remote`.
public final class EventLoop: SerialExecutor, @unchecked Sendable {
    private enum Work {
        /// Of an actor on the loop.
        case job(UnownedJob)
        /// Of a task that prefers the loop.
        case preferring(UnownedJob)
        case function(@Sendable () -> Void)
    }

    /// What other threads leave for the loop.
    private struct Remote {
        var work: [Work] = []
        /// Whether the loop is in its poll, or about to be: then it has to be woken.
        var isSleeping = false
        var isStopping = false
        var isForced = false
        /// Whether each handle was closed, once the loop has ended.
        var ended: Bool?
        var waitingForEnd: [UnsafeContinuation<Bool, Never>] = []
    }

    /// Work of the loop for itself that is done in one turn, before descriptors get theirs.
    private static let workPerTurn = 4096

    /// The loop's place in its group.
    public let index: Int
    /// For tasks whose code outside of actors shall run on the loop, too: `Task(executorPreference: loop.taskExecutor)`.
    public let taskExecutor = LoopTaskExecutor()
    /// libuv's loop. Loop only.
    public let uv: UnsafeMutablePointer<uv_loop_t>
    let meter = LoopLoadMeter()

    private let remote = Locked(Remote())
    private let handles: LoopHandles
    /// Threads that are about to wake the loop up.
    private let wakers = Atomic<Int>(0)
    // Written by the loop's thread before `init` returns, never again.
    private nonisolated(unsafe) var thread = pthread_t()

    // Loop only:
    private var local: [Work] = []
    private var dirty: [any TickFlushable] = []
    private var afterFlush: [UnsafeContinuation<Void, Never>] = []
    private var isInRun = false
    private var isIdling = false
    /// Descriptors, timers and signals that are watched on the loop. Loop only.
    public private(set) var openHandles = 0
    /// How often the loop woke up from its poll. Loop only.
    public private(set) var wakeups = 0

    /// Starts a loop.
    /// - Parameters:
    ///   - index: The loop's place in its group, also the end of the thread's name.
    ///   - name: What its thread is called; the first 15 bytes with the index count.
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

    /// Leaves something for the loop, and wakes it up when it sleeps.
    private func wakeUp(_ change: (inout Remote) -> Void) {
        let mustWake = remote.withLock { remote in
            if remote.ended != nil { return false }
            change(&remote)
            guard remote.isSleeping else { return false }
            remote.isSleeping = false
            wakers.wrappingAdd(1, ordering: .relaxed)  // before the lock is given up: see end()
            return true
        }
        if mustWake {
            handles.wakeUp()
            wakers.wrappingSubtract(1, ordering: .releasing)
        }
    }

    // MARK: Loop only

    /// Has `flushTick()` called once before the loop polls. Loop only.
    public func markDirty(_ object: any TickFlushable) {
        assertInLoop()
        dirty.append(object)
        dontBlock()
    }

    /// The time as it was when the present turn began: milliseconds, monotonic. Loop only.
    public var now: UInt64 { uv_now(uv) }

    /// Waits until everything that was sent on this loop so far has been offered to the kernel.
    public func flushed() async {
        await withUnsafeContinuation { (continuation: UnsafeContinuation<Void, Never>) in
            execute { self.afterFlush.append(continuation) }
        }
    }

    func handleOpened() { openHandles += 1 }

    func handleClosed() { openHandles -= 1 }

    /// uv_run calls timers before it polls: what they enqueue must not wait for the next event. An active idle handle
    /// makes the poll return at once.
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
            // Not with the preference that the job's task doesn't have: each call within the actor would be enqueued anew, and
            // others would run in between.
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

    /// Has the loop end as soon as nothing is enqueued and the owners of all handles have closed them. From any thread.
    public func stop() { stop(force: false) }

    /// Stops the loop and waits for its end. To be called from elsewhere than the loop.
    /// - Parameter limit: After this time the loop ends although handles are open on it; their memory is given up.
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
            // From here on nobody begins to wake the loop up; who has begun needs the handle a moment longer.
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
