import Glibc

/// A pool of threads for CPU-bound work, such as a pipeline over many documents. As a task's preferred executor it keeps such work
/// off the loops, which serve sockets, and off Swift's own threads, of which there are only as many as processors.
///
/// A task that yields lets other tasks run. Jobs that are enqueued from outside the pool, such as the continuation after an awaited
/// answer, take precedence over jobs that yielded on the pool, and one thread runs only the former. So long computations, in any
/// number of tasks, don't delay short ones.
///
/// `@unchecked Sendable`: the jobs are guarded by `mutex`.
public final class WorkerPool: TaskExecutor, @unchecked Sendable {
    /// Has as many threads as the machine has processors, at least two, and one more that doesn't run yielded jobs.
    public static let shared = WorkerPool(max(2, sysconf(Int32(_SC_NPROCESSORS_ONLN))), name: "worker")

    /// The number of jobs from outside that may run before a yielded one.
    private static let lead = 64

    private let mutex = UnsafeMutablePointer<pthread_mutex_t>.allocate(capacity: 1)
    private let filled = UnsafeMutablePointer<pthread_cond_t>.allocate(capacity: 1)
    private var fresh = FIFO<UnownedJob>()
    private var again = FIFO<UnownedJob>()
    private var sinceAgain = 0
    /// Set on the pool's own threads.
    private let isOwn: pthread_key_t

    /// Starts the threads, which live as long as the process.
    init(_ count: Int, name: String) {
        pthread_mutex_init(mutex, nil)
        pthread_cond_init(filled, nil)
        var key = pthread_key_t()
        pthread_key_create(&key, nil)
        isOwn = key
        for index in 0...count {
            LoopThread.start(name: "\(name)-\(index)", stackSize: 8 << 20, began: {}) { [self] in
                run(takesAll: index < count)
            }
        }
    }

    /// Runs a task's job on one of the threads.
    public func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        let hasYielded = pthread_getspecific(isOwn) != nil
        pthread_mutex_lock(mutex)
        if hasYielded { again.append(job) } else { fresh.append(job) }
        // A single woken thread might be the one that doesn't run yielded jobs.
        if hasYielded { pthread_cond_broadcast(filled) } else { pthread_cond_signal(filled) }
        pthread_mutex_unlock(mutex)
    }

    private func run(takesAll: Bool) {
        let executor = asUnownedTaskExecutor()
        pthread_setspecific(isOwn, UnsafeRawPointer(mutex))
        while true {
            pthread_mutex_lock(mutex)
            while fresh.isEmpty, !takesAll || again.isEmpty { pthread_cond_wait(filled, mutex) }
            let job = next(takesAll: takesAll)
            pthread_mutex_unlock(mutex)
            job.runSynchronously(on: executor)
        }
    }

    private func next(takesAll: Bool) -> UnownedJob {
        guard takesAll, !again.isEmpty else { return fresh.removeFirst() }
        if !fresh.isEmpty, sinceAgain < Self.lead {
            sinceAgain += 1
            return fresh.removeFirst()
        }
        sinceAgain = 0
        return again.removeFirst()
    }
}
