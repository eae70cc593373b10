import Glibc

/// A few threads for work that keeps a processor busy, such as a pipeline over many documents: as a task's preferred executor it keeps
/// that off the loops, which have sockets to serve, and off Swift's own threads, which are as few as the processors. Jobs run in the
/// order in which they come; a task that yields lets the others go on.
///
/// `@unchecked Sendable`: the jobs are guarded by `mutex`.
public final class WorkerPool: TaskExecutor, @unchecked Sendable {
    /// As many threads as the machine has processors, at least two.
    public static let shared = WorkerPool(max(2, sysconf(Int32(_SC_NPROCESSORS_ONLN))), name: "worker")

    private let mutex = UnsafeMutablePointer<pthread_mutex_t>.allocate(capacity: 1)
    private let filled = UnsafeMutablePointer<pthread_cond_t>.allocate(capacity: 1)
    private var jobs: [UnownedJob] = []
    private var head = 0

    /// Starts the threads, which live as long as the process.
    init(_ count: Int, name: String) {
        pthread_mutex_init(mutex, nil)
        pthread_cond_init(filled, nil)
        for index in 0..<count {
            LoopThread.start(name: "\(name)-\(index)", stackSize: 8 << 20, began: {}, body: run)
        }
    }

    /// Runs a task's job on one of the threads.
    public func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        pthread_mutex_lock(mutex)
        jobs.append(job)
        pthread_cond_signal(filled)
        pthread_mutex_unlock(mutex)
    }

    private func run() {
        let executor = asUnownedTaskExecutor()
        while true {
            pthread_mutex_lock(mutex)
            while head == jobs.count { pthread_cond_wait(filled, mutex) }
            let job = jobs[head]
            head += 1
            if head == jobs.count {
                jobs.removeAll(keepingCapacity: true)
                head = 0
            }
            pthread_mutex_unlock(mutex)
            job.runSynchronously(on: executor)
        }
    }
}
