import Synchronization

/// A group of loops over which connections are distributed.
public final class LoopGroup: Sendable {
    /// The loops, at least one.
    public let loops: [EventLoop]
    private let taken = Atomic<UInt>(0)

    /// Starts the loops.
    /// - Parameters:
    ///   - count: The number of loops, at least one.
    ///   - name: The name of their threads, followed by a number.
    public init(_ count: Int, name: String = "loop") {
        precondition(count > 0, "a group needs a loop")
        loops = (0..<count).map { EventLoop(index: $0, name: name) }
    }

    /// The next loop, round-robin.
    public func next() -> EventLoop {
        loops[Int(taken.wrappingAdd(1, ordering: .relaxed).oldValue % UInt(loops.count))]
    }

    /// Stops all loops and waits until they have ended. Must not be called on one of them.
    /// - Parameter limit: After this time loops end even if handles are open on them.
    /// - Returns: Whether every loop ended by itself.
    @discardableResult
    public func shutDown(within limit: Duration = .seconds(5)) async -> Bool {
        await withTaskGroup(of: Bool.self) { group in
            for loop in loops { group.addTask { await loop.shutDown(within: limit) } }
            return await group.reduce(true) { $0 && $1 }
        }
    }
}
