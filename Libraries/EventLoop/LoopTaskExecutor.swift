/// A loop as the preferred executor of tasks. It is separate from the loop as the executor of actors, because a job has to be run
/// differently for the two, and one object couldn't tell them apart when they are enqueued.
public final class LoopTaskExecutor: TaskExecutor {
    // Written once, before the object is shared. Weak: the loop owns it.
    private nonisolated(unsafe) weak var loop: EventLoop?

    init() {}

    func attach(to loop: EventLoop) { self.loop = loop }

    /// Runs a task's job on the loop. After the loop's end, the job never runs.
    public func enqueue(_ job: consuming ExecutorJob) { loop?.enqueuePreferring(UnownedJob(job)) }
}
