import EventLoop

/// The resources that the sockets of one loop share, so that an idle socket needs none of its own. Loop only, except
/// ``acquire(for:)`` and ``release()``, which only count.
///
/// `@unchecked Sendable`: the registry passes it between threads, but its contents are used only on its loop.
final class LoopResources: @unchecked Sendable {
    private static let registry = Locked<[ObjectIdentifier: (resources: LoopResources, users: Int)]>([:])
    private static let keptParsers = 8

    private let key: ObjectIdentifier
    let readBuffer = UnsafeMutableRawBufferPointer.allocate(byteCount: 64 << 10, alignment: 16)
    let deadlines: DeadlineWheel
    private var parsers: [FrameParser] = []
    private var inflater: Inflater?

    private init(_ loop: EventLoop) {
        key = ObjectIdentifier(loop)
        deadlines = DeadlineWheel(loop)
    }

    deinit { readBuffer.deallocate() }

    /// The loop's resources, which are created for its first socket.
    static func acquire(for loop: EventLoop) -> LoopResources {
        registry.withLock { entries in
            let key = ObjectIdentifier(loop)
            var entry = entries[key] ?? (LoopResources(loop), 0)
            entry.users += 1
            entries[key] = entry
            return entry.resources
        }
    }

    /// Must be called once for each ``acquire(for:)``, on the loop.
    func release() {
        LoopResources.registry.withLock { entries in
            guard var entry = entries[key] else { return }
            entry.users -= 1
            entries[key] = entry.users > 0 ? entry : nil
        }
    }

    /// Lends a parser at a frame boundary; `nil` when memory can't be allocated.
    func lendParser() -> FrameParser? { parsers.popLast() ?? FrameParser() }

    /// Returns a parser, which must be at a frame boundary.
    func giveBack(_ parser: FrameParser) {
        if parsers.count < Self.keptParsers { parsers.append(parser) }
    }

    /// The loop's inflater; `nil` when memory can't be allocated.
    func sharedInflater() -> Inflater? {
        if inflater == nil { inflater = Inflater() }
        return inflater
    }
}
