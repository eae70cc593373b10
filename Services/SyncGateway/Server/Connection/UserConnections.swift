import DocumentModel
import EventLoop

/// Counts the connections of each user with this gateway, so that no user takes all of them.
final class UserConnections: Sendable {
    /// One connection of a user.
    struct Place: Hashable, Sendable {
        @ExactText fileprivate var app: String
        @ExactText fileprivate var user: String
    }

    /// How many connections a user may have.
    let limit: Int
    private let counts = Locked<[Place: Int]>([:])

    init(limit: Int) { self.limit = limit }

    /// - Returns: the place to pass to `release`; `nil` when the user has reached the limit.
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
