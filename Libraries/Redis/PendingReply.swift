/// The pending answer to a command, or to commands that were sent together, and the caller that waits for it. Accessed only on its
/// connection's loop.
final class PendingReply {
    /// The caller that waits: it gets `nil` if an answer will never come, or an error if nothing was sent.
    enum Waiter: Sendable {
        case one(UnsafeContinuation<RedisValue?, any Error>)
        /// Waits for all answers, in the order of the commands.
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

    /// Takes the next answer; `nil` if there will be none.
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
