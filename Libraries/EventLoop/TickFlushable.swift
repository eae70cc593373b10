/// Collects the data that is written during one turn of a loop, and passes it to the kernel in one call.
public protocol TickFlushable: AnyObject {
    /// Called on the loop, once for each `EventLoop.markDirty`, after the work of the turn and before the loop polls.
    func flushTick()
}
