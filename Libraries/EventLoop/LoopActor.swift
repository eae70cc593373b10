/// An actor that lives on a loop: its code runs on the loop's thread, beside its sockets. Calls between actors of one
/// loop cost no thread switch, and a callback of the loop may enter it with `assumeIsolated`.
public protocol LoopActor: Actor {
    /// The loop that the actor lives on, always the same one.
    nonisolated var loop: EventLoop { get }
}

extension LoopActor {
    /// The loop.
    public nonisolated var unownedExecutor: UnownedSerialExecutor { loop.asUnownedSerialExecutor() }
}
