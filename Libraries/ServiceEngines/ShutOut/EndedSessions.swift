import DocumentModel

/// Ended sessions, each kept until its last access token has expired.
struct EndedSessions: Sendable {
    private struct Key: Hashable {
        @ExactText var app: String
        @ExactText var id: String
    }

    private var untils: [Key: Int64] = [:]

    func contains(_ id: String, app: String) -> Bool { !untils.isEmpty && untils[Key(app: app, id: id)] != nil }

    /// - Parameter now: milliseconds since 1970.
    /// - Returns: whether one of them is news.
    mutating func add(_ sessions: [EndedSession], now: Int64) -> Bool {
        var isNews = false
        for session in sessions where session.until >= now - EndedSessionTable.leeway {
            let key = Key(app: session.app, id: session.id)
            isNews = untils.updateValue(max(session.until, untils[key] ?? 0), forKey: key) == nil || isNews
        }
        return isNews
    }

    /// Forgets those whose tokens have all expired.
    mutating func prune(now: Int64) {
        untils = untils.filter { $0.value >= now - EndedSessionTable.leeway }
    }
}
