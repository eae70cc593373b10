import EventTopics

/// The result of the app's rules for a subject, and what it depends on.
struct Verdict: Sendable {
    var access: Grant.Access
    /// The reason, for people.
    var reason: String
    var dependencies: Set<Dependency>
    /// Whether the answer depended on something that can't be watched, such as an HTTP request or the current time: it
    /// is valid for seconds only.
    var isUntracked = false
    /// The version of the app whose rules were applied; `nil` when the app isn't deployed.
    var rules: Int64?
}
