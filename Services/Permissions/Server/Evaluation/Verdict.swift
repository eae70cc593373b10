import AppRegistry
import EventTopics

/// The result of the app's rules for a subject, and what it depends on.
package struct Verdict: Sendable {
    var access: Grant.Access
    /// The reason, for people.
    var reason: String
    var dependencies: Set<Dependency>
    /// Whether the answer depended on something that can't be watched, such as an HTTP request or the current time: it
    /// is valid for seconds only.
    var isUntracked = false
    /// Whether nothing of the user was looked at, so that all users get this answer.
    var isForEveryone = false
    /// The rules that were applied; `nil` when the app isn't deployed.
    var rules: AppliedRules?
}

extension Verdict {
    /// A verdict that depends on nothing.
    package init(_ access: Grant.Access, reason: String) {
        self.init(access: access, reason: reason, dependencies: [])
    }
}

/// The rules of an app, as they were applied: its version, and that of the secrets which functions of rules read.
struct AppliedRules: Hashable, Sendable {
    let version: Int64
    let secrets: Int64

    init(_ app: DeployedApp) { (version, secrets) = (app.version, app.secretsVersion) }
}
