import DocumentModel
import EventLoop

/// How many connections each user has with this gateway, so that nobody takes all of them.
final class UserConnections: Sendable {
    /// A user's claim to one connection.
    struct Place: Hashable, Sendable {
        @ExactText fileprivate var app: String
        @ExactText fileprivate var user: String
    }

    /// How many a user may have.
    let limit: Int
    private let counts = Locked<[Place: Int]>([:])

    init(limit: Int) { self.limit = limit }

    /// - Returns: `nil` when the user has as many as are allowed; else what `release` gives back.
    func take(app: String, user: String) -> Place? {
        let place = Place(app: app, user: user)
        return counts.withLock { counts in
            guard counts[place, default: 0] < limit else { return nil }
            counts[place, default: 0] += 1
            return place
        }
    }

    func release(_ place: Place) {
        counts.withLock { counts in
            guard let count = counts[place] else { return }
            counts[place] = count > 1 ? count - 1 : nil
        }
    }
}
