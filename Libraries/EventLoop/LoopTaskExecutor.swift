/// A loop as the preference of tasks, apart from the loop as the executor of actors: the runtime has to be told which of the two a
/// job runs for, and both would look alike when they were enqueued by one object.
public final class LoopTaskExecutor: TaskExecutor {
    // Written before anybody else knows the object, never again. Weak: the loop owns it.
    private nonisolated(unsafe) weak var loop: EventLoop?

    init() {}

    func attach(to loop: EventLoop) { self.loop = loop }

    /// Runs a task's job on the loop; never, when the loop has ended.
    public func enqueue(_ job: consuming ExecutorJob) { loop?.enqueuePreferring(UnownedJob(job)) }
}
