import Synchronization

/// Some loops to spread connections over.
public final class LoopGroup: Sendable {
    /// The loops, at least one.
    public let loops: [EventLoop]
    private let taken = Atomic<UInt>(0)

    /// Starts the loops.
    /// - Parameters:
    ///   - count: How many, at least one.
    ///   - name: What their threads are called, followed by a number.
    public init(_ count: Int, name: String = "loop") {
        precondition(count > 0, "a group needs a loop")
        loops = (0..<count).map { EventLoop(index: $0, name: name) }
    }

    /// The next loop in turn.
    public func next() -> EventLoop {
        loops[Int(taken.wrappingAdd(1, ordering: .relaxed).oldValue % UInt(loops.count))]
    }

    /// Stops all loops and waits until they have ended. To be called from elsewhere than the loops.
    /// - Parameter limit: After this time loops end although handles are open on them.
    /// - Returns: Whether every loop ended by itself.
    @discardableResult
    public func shutDown(within limit: Duration = .seconds(5)) async -> Bool {
        await withTaskGroup(of: Bool.self) { group in
            for loop in loops { group.addTask { await loop.shutDown(within: limit) } }
            return await group.reduce(true) { $0 && $1 }
        }
    }
}
