/// The answer to a command, or to commands that were sent together, and who waits for it. Touched on its connection's loop only.
final class PendingReply {
    /// Who waits: gets `nil` if an answer will never come, or an error if nothing was sent.
    enum Waiter: Sendable {
        case one(UnsafeContinuation<RedisValue?, any Error>)
        /// For the answers in the order of the commands.
        case all(UnsafeContinuation<[RedisValue]?, any Error>)

        func fail(_ error: RedisError) {
            switch self {
            case .one(let continuation): continuation.resume(throwing: error)
            case .all(let continuation): continuation.resume(throwing: error)
            }
        }
    }

    private let waiter: Waiter
    private var missing: Int
    private var values: [RedisValue] = []
    private var isLost = false

    init(count: Int, _ waiter: Waiter) {
        self.waiter = waiter
        missing = count
        if case .all = waiter { values.reserveCapacity(count) }
    }

    /// The next answer, or word that there will be none.
    func take(_ value: RedisValue?) {
        switch waiter {
        case .one(let continuation): continuation.resume(returning: value)
        case .all(let continuation):
            if let value { values.append(value) } else { isLost = true }
            missing -= 1
            if missing == 0 { continuation.resume(returning: isLost ? nil : values) }
        }
    }
}
