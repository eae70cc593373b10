public import DocumentModel

/// Who follows which grants in one process.
public struct GrantFollowers<Observer: Sendable>: Sendable {
    /// Identifies one call of ``follow(_:_:)``, to end it.
    public struct Following: Sendable {
        fileprivate let keys: [ExactText]
        fileprivate let id: Int
    }

    private var observers: [ExactText: [Int: Observer]] = [:]
    private var nextID = 0

    public init() {}

    /// Follows the grants with these keys.
    public mutating func follow(_ keys: [ExactText], _ observer: Observer) -> Following {
        nextID += 1
        for key in keys { observers[key, default: [:]][nextID] = observer }
        return Following(keys: keys, id: nextID)
    }

    public mutating func stop(_ following: Following) {
        for key in following.keys {
            observers[key]?[following.id] = nil
            if observers[key]?.isEmpty == true { observers[key] = nil }
        }
    }

    /// The keys of the grants that are followed.
    public var keys: [ExactText] { Array(observers.keys) }

    /// The observers of a grant.
    public func observers(of key: ExactText) -> [Observer] { observers[key].map { Array($0.values) } ?? [] }
}

/// Counts the followers in one gateway that still have to carry out a revocation.
public struct FenceCountdown: Sendable {
    private var left: Int

    /// - Parameter followers: How many followers the grant had when its revocation was read.
    public init(followers: Int) { left = followers }

    /// Whether all have carried it out.
    public var isDone: Bool { left == 0 }

    /// One follower has stopped: the kernel has taken what it sent, or its connection is reset.
    /// - Returns: whether it was the last one.
    public mutating func stopped() -> Bool {
        left -= 1
        return isDone
    }
}
