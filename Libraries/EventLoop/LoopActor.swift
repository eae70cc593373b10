/// An actor on a loop: its code runs on the thread that serves the loop's sockets. Calls between actors of one
/// loop cost no thread switch, and a callback of the loop may enter it with `assumeIsolated`.
public protocol LoopActor: Actor {
    /// The loop that the actor runs on, which never changes.
    nonisolated var loop: EventLoop { get }
}

extension LoopActor {
    /// The loop, as the actor's executor.
    public nonisolated var unownedExecutor: UnownedSerialExecutor { loop.asUnownedSerialExecutor() }
}
