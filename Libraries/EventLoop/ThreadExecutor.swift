import Cuv
import Dispatch
import Glibc

/// A serial executor that owns one pthread: blocking C calls (rd_kafka_consume_batch_queue, PQexec, JSC) may be
/// made from an actor that names it, without starving the cooperative pool.
public final class ThreadExecutor: SerialExecutor, @unchecked Sendable {
    private let mutex = UnsafeMutablePointer<pthread_mutex_t>.allocate(capacity: 1)
    private let cond = UnsafeMutablePointer<pthread_cond_t>.allocate(capacity: 1)
    private var jobs: [UnownedJob] = []  // guarded by mutex
    private var stopping = false  // guarded by mutex
    private var tid: pthread_t? = nil  // guarded by mutex

    public init(name: String, stackSize: Int = 8 << 20) {
        pthread_mutex_init(mutex, nil)
        pthread_cond_init(cond, nil)
        var attr = pthread_attr_t()
        pthread_attr_init(&attr)
        pthread_attr_setstacksize(&attr, stackSize)
        var t = pthread_t()
        let me = Unmanaged.passRetained(self).toOpaque()
        pthread_create(&t, &attr, { Unmanaged<ThreadExecutor>.fromOpaque($0!).takeRetainedValue().loop(); return nil }, me)

        pthread_mutex_lock(mutex)
        tid = t
        pthread_mutex_unlock(mutex)
    }
    public func enqueue(_ job: consuming ExecutorJob) {
        let j = UnownedJob(job)
        pthread_mutex_lock(mutex)
        jobs.append(j)
        pthread_cond_signal(cond)
        pthread_mutex_unlock(mutex)
    }
    public func asUnownedSerialExecutor() -> UnownedSerialExecutor { UnownedSerialExecutor(ordinary: self) }
    public func checkIsolated() {
        pthread_mutex_lock(mutex)
        let t = tid
        pthread_mutex_unlock(mutex)
        precondition(t.map { pthread_equal($0, pthread_self()) != 0 } ?? false, "not on executor thread")
    }
    public func stop() {
        pthread_mutex_lock(mutex)
        stopping = true
        pthread_cond_signal(cond)
        pthread_mutex_unlock(mutex)
    }
    private func loop() {
        var batch: [UnownedJob] = []
        let me = asUnownedSerialExecutor()
        while true {
            pthread_mutex_lock(mutex)
            while jobs.isEmpty && !stopping { pthread_cond_wait(cond, mutex) }
            if jobs.isEmpty && stopping { pthread_mutex_unlock(mutex); return }
            swap(&batch, &jobs)
            pthread_mutex_unlock(mutex)
            for j in batch { j.runSynchronously(on: me) }
            batch.removeAll(keepingCapacity: true)
        }
    }
}

/// Serial executor over a DispatchQueue, so DispatchSource handlers may `assumeIsolated` into the actor.
public final class QueueExecutor: SerialExecutor {
    public let queue: DispatchQueue
    public init(label: String) { queue = DispatchQueue(label: label) }
    public func enqueue(_ job: consuming ExecutorJob) {
        let j = UnownedJob(job)
        queue.async { j.runSynchronously(on: self.asUnownedSerialExecutor()) }
    }
    public func asUnownedSerialExecutor() -> UnownedSerialExecutor { UnownedSerialExecutor(ordinary: self) }
    public func checkIsolated() { dispatchPrecondition(condition: .onQueue(queue)) }
}

