/// Collects what is written during one turn of a loop, to hand it to the kernel at once.
public protocol TickFlushable: AnyObject {
    /// Called on the loop, once for each `EventLoop.markDirty`, after the work of the turn and before the loop polls.
    func flushTick()
}
