import Dispatch

/// A serial executor on a dispatch queue, for work that blocks on the disk and needs no thread of its own.
public final class QueueExecutor: SerialExecutor {
    /// The queue. Code that runs on it may enter an actor of this executor with `assumeIsolated`.
    public let queue: DispatchQueue

    /// Makes a serial queue.
    public init(label: String) { queue = DispatchQueue(label: label) }

    /// Runs a job on the queue.
    public func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        queue.async { job.runSynchronously(on: self.asUnownedSerialExecutor()) }
    }

    /// This executor, for an actor's `unownedExecutor`.
    public func asUnownedSerialExecutor() -> UnownedSerialExecutor { UnownedSerialExecutor(ordinary: self) }

    /// Stops the process when the caller isn't on the queue.
    public func checkIsolated() { dispatchPrecondition(condition: .onQueue(queue)) }
}
