import Cuv
import Glibc
import Synchronization

/// One pthread = one libuv loop = one SerialExecutor and TaskExecutor.
/// Everything named "loop only" must be touched from the loop's thread; `assertInLoop()` checks it.
public final class EventLoop: SerialExecutor, TaskExecutor, @unchecked Sendable {
    enum Work { case job(UnownedJob), fn(@Sendable () -> Void) }
    private struct Remote { var work: [Work] = []; var sleeping = false; var stop = false }
    private let remote = Locked(Remote())
    public let uv: UnsafeMutablePointer<uv_loop_t>
    private let wake: UnsafeMutablePointer<uv_async_t>
    private let ticker: UnsafeMutablePointer<uv_timer_t>
    private let idle: UnsafeMutablePointer<uv_idle_t>
    private var inRun = false, idling = false
    public let index: Int
    // written once by the loop's thread before `init` returns
    private nonisolated(unsafe) var thread = pthread_t()
    // loop only:
    private var local: [Work] = []
    private var dirty: [any TickFlushable] = []
    private var afterFlush: [UnsafeContinuation<Void, Never>] = []
    public private(set) var sweepers: [ObjectIdentifier: () -> Void] = [:]
    public private(set) var openHandles = 0
    public private(set) var wakeups = 0

    public init(index: Int = 0, name: String = "loop") {
        self.index = index
        uv = .allocate(capacity: 1)
        wake = .allocate(capacity: 1)
        ticker = .allocate(capacity: 1)
        idle = .allocate(capacity: 1)
        uv_loop_init(uv)
        uv_async_init(uv, wake) { _ in }  // its only job is to make the poll return
        uv_timer_init(uv, ticker)
        uv_idle_init(uv, idle)
        ticker.pointee.data = Unmanaged.passUnretained(self).toOpaque()
        uv_timer_start(ticker, { h in
            let l = Unmanaged<EventLoop>.fromOpaque(h!.pointee.data).takeUnretainedValue()
            for s in l.sweepers.values { s() }
        }, 250, 250)
        signal(SIGPIPE, SIG_IGN)  // libuv writes without MSG_NOSIGNAL
        var ready = sem_t()
        sem_init(&ready, 0, 0)
        withUnsafeMutablePointer(to: &ready) { r in
            let boot = Unmanaged.passRetained(Boot(loop: self, ready: r, name: "\(name)-\(index)"))
            var t = pthread_t()
            pthread_create(&t, nil, { p in
                let b = Unmanaged<Boot>.fromOpaque(p!).takeRetainedValue()
                cuv_thread_name(b.name)
                let l = b.loop
                l.thread = pthread_self()
                sem_post(b.ready)
                l.run()
                return nil
            }, boot.toOpaque())
            pthread_detach(t)
            sem_wait(r)
        }
    }
    private final class Boot {
        let loop: EventLoop; let ready: UnsafeMutablePointer<sem_t>; let name: String
        init(loop: EventLoop, ready: UnsafeMutablePointer<sem_t>, name: String) { self.loop = loop; self.ready = ready; self.name = name }
    }

    // MARK: executor
    public func enqueue(_ job: consuming ExecutorJob) { push(.job(UnownedJob(job))) }
    public func asUnownedSerialExecutor() -> UnownedSerialExecutor { UnownedSerialExecutor(ordinary: self) }
    public func asUnownedTaskExecutor() -> UnownedTaskExecutor { UnownedTaskExecutor(ordinary: self) }
    public func checkIsolated() { precondition(inLoop, "not on the loop's thread") }
    public func isIsolatingCurrentContext() -> Bool? { inLoop }
    public var inLoop: Bool { pthread_equal(thread, pthread_self()) != 0 }
    @inline(__always) public func assertInLoop() { assert(inLoop) }

    /// Run on the loop, later (never inline).
    public func execute(_ f: @escaping @Sendable () -> Void) { push(.fn(f)) }

    private func push(_ w: Work) {
        if inLoop { local.append(w); dontBlock(); return }  // the loop is awake: it is running us
        let mustWake = remote.withLock { r in
            r.work.append(w)
            defer { r.sleeping = false }
            return r.sleeping
        }
        if mustWake { uv_async_send(wake) }
    }

    // MARK: loop only
    /// `o.flushTick()` is called once before the loop next polls.
    public func markDirty(_ o: any TickFlushable) { dirty.append(o); dontBlock() }
    /// Timers run inside uv_run BEFORE it polls: what they enqueue must not wait for the next event. An active idle handle makes the poll return at once.
    @inline(__always) private func dontBlock() {
        if inRun && !idling { idling = true; uv_idle_start(idle) { _ in } }
    }
    public func addSweeper(_ owner: AnyObject, _ f: @escaping () -> Void) { sweepers[ObjectIdentifier(owner)] = f }
    public func removeSweeper(_ owner: AnyObject) { sweepers[ObjectIdentifier(owner)] = nil }
    /// Cached at the start of the tick, milliseconds, monotonic.
    public var now: UInt64 { uv_now(uv) }
    func handleOpened() { openHandles += 1 }
    func handleClosed() { openHandles -= 1 }

    /// Returns when everything sent on this loop so far has been offered to the kernel.
    public func flushed() async { await withUnsafeContinuation { (k: UnsafeContinuation<Void, Never>) in execute { self.afterFlush.append(k) } } }

    private func run() {
        let serial = asUnownedSerialExecutor(), task = asUnownedTaskExecutor()
        var batch: [Work] = []
        while true {
            remote.withLock { r in swap(&batch, &r.work) }
            var ran = runBatch(&batch, serial, task)
            while !local.isEmpty, ran < 4096 {
                swap(&batch, &local)
                ran += runBatch(&batch, serial, task)
            }
            while !dirty.isEmpty {
                var d: [any TickFlushable] = []
                swap(&d, &dirty)
                for o in d { o.flushTick() }
            }
            if !afterFlush.isEmpty { let a = afterFlush; afterFlush.removeAll(); for k in a { k.resume() } }
            var block = local.isEmpty
            if block {
                let (sleep, stop) = remote.withLock { r in r.sleeping = r.work.isEmpty; return (r.sleeping, r.stop) }
                if stop && sleep { break }
                block = sleep
            }
            inRun = true
            uv_run(uv, block ? UV_RUN_ONCE : UV_RUN_NOWAIT)
            inRun = false
            if idling { idling = false; uv_idle_stop(idle) }
            if block { remote.withLock { $0.sleeping = false }; wakeups += 1 }
        }
        uv_close(cuv_handle(wake), nil)
        uv_close(cuv_handle(ticker), nil)
        uv_close(cuv_handle(idle), nil)
        uv_run(uv, UV_RUN_DEFAULT)
        precondition(uv_loop_close(uv) == 0, "handles left open: \(openHandles)")
        wake.deallocate(); ticker.deallocate(); idle.deallocate(); uv.deallocate()
    }
    @inline(__always)
    private func runBatch(_ b: inout [Work], _ s: UnownedSerialExecutor, _ t: UnownedTaskExecutor) -> Int {
        let n = b.count
        for w in b {
            switch w {
            case .job(let j): j.runSynchronously(isolatedTo: s, taskExecutor: t)
            case .fn(let f): f()
            }
        }
        b.removeAll(keepingCapacity: true)
        return n
    }
    /// All handles must have been closed by their owners.
    public func stop() {
        let w = remote.withLock { r in r.stop = true; defer { r.sleeping = false }; return r.sleeping }
        if w { uv_async_send(wake) }
    }
}

public protocol TickFlushable: AnyObject { func flushTick() }

public struct UVError: Error, CustomStringConvertible, Sendable {
    public let code: Int32
    public init(_ c: Int32) { code = c }
    public var description: String { String(cString: uv_strerror(code)) }
}

/// Actors on a loop adopt this and get their executor.
public protocol LoopActor: Actor { nonisolated var loop: EventLoop { get } }
extension LoopActor { public nonisolated var unownedExecutor: UnownedSerialExecutor { loop.asUnownedSerialExecutor() } }

public final class LoopGroup: Sendable {
    public let loops: [EventLoop]
    private let n = Atomic<Int>(0)
    public init(_ count: Int, name: String = "loop") { loops = (0..<count).map { EventLoop(index: $0, name: name) } }
    public func next() -> EventLoop { loops[n.wrappingAdd(1, ordering: .relaxed).oldValue % loops.count] }
}

/// pthread_mutex: ThreadSanitizer does not understand Synchronization.Mutex (false reports).
public final class Locked<T>: @unchecked Sendable {
    private let mutex = UnsafeMutablePointer<pthread_mutex_t>.allocate(capacity: 1)
    private var value: T
    public init(_ value: T) { self.value = value; pthread_mutex_init(mutex, nil) }
    deinit { pthread_mutex_destroy(mutex); mutex.deallocate() }
    public func withLock<R>(_ body: (inout T) throws -> R) rethrows -> R { pthread_mutex_lock(mutex); defer { pthread_mutex_unlock(mutex) }; return try body(&value) }
}
