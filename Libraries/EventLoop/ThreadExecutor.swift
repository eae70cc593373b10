import Glibc

/// A serial executor with a thread of its own. An actor on it may make blocking calls of C libraries without blocking Swift's
/// cooperative threads.
///
/// The thread keeps the executor alive until `stop()`. Jobs that are enqueued after its end never run.
///
/// `@unchecked Sendable`: the jobs and the flags are guarded by `mutex`.
public final class ThreadExecutor: SerialExecutor, @unchecked Sendable {
    private let mutex = UnsafeMutablePointer<pthread_mutex_t>.allocate(capacity: 1)
    private let changed = UnsafeMutablePointer<pthread_cond_t>.allocate(capacity: 1)
    private var jobs: [UnownedJob] = []
    private var isStopping = false
    // Written once by the thread, before `init` returns.
    private nonisolated(unsafe) var thread = pthread_t()

    /// Starts the thread.
    /// - Parameters:
    ///   - name: The thread's name in the kernel, cut after 15 bytes.
    ///   - stackSize: The thread's stack size in bytes.
    public init(name: String, stackSize: Int = 8 << 20) {
        pthread_mutex_init(mutex, nil)
        pthread_cond_init(changed, nil)
        LoopThread.start(name: name, stackSize: stackSize, began: { self.thread = pthread_self() }, body: run)
    }

    deinit {
        pthread_cond_destroy(changed)
        pthread_mutex_destroy(mutex)
        changed.deallocate()
        mutex.deallocate()
    }

    /// Runs a job on the thread.
    public func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        pthread_mutex_lock(mutex)
        jobs.append(job)
        pthread_cond_signal(changed)
        pthread_mutex_unlock(mutex)
    }

    /// This executor, for an actor's `unownedExecutor`.
    public func asUnownedSerialExecutor() -> UnownedSerialExecutor { UnownedSerialExecutor(ordinary: self) }

    /// Stops the process when the caller isn't on the executor's thread.
    public func checkIsolated() { precondition(isOnThread, "not on the executor's thread") }

    /// Whether the caller is on the executor's thread.
    public func isIsolatingCurrentContext() -> Bool? { isOnThread }

    /// Makes the thread end as soon as nothing is enqueued.
    public func stop() {
        pthread_mutex_lock(mutex)
        isStopping = true
        pthread_cond_signal(changed)
        pthread_mutex_unlock(mutex)
    }

    private var isOnThread: Bool { pthread_equal(thread, pthread_self()) != 0 }

    private func run() {
        let executor = asUnownedSerialExecutor()
        var batch: [UnownedJob] = []
        while true {
            pthread_mutex_lock(mutex)
            while jobs.isEmpty, !isStopping { pthread_cond_wait(changed, mutex) }
            swap(&batch, &jobs)
            pthread_mutex_unlock(mutex)
            if batch.isEmpty { return }
            for job in batch { job.runSynchronously(on: executor) }
            batch.removeAll(keepingCapacity: true)
        }
    }
}
