import EventTopics

/// What the app's rules say about a subject, and what they looked at to say it.
struct Verdict: Sendable {
    var access: Grant.Access
    /// Why, for people.
    var reason: String
    var dependencies: Set<Dependency>
    /// The answer depended on something that can't be watched (an HTTP request): it holds for seconds only.
    var isUntracked = false
    /// The version of the app whose rules said so; `nil` when no rule was asked.
    var rules: Int64?
}
