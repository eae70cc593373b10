import Texts

/// The number by which budgets of time and bytes (`TimeBudget`, `InflightBudget`) know a user of an app in this process.
package enum Sender {
    package static func number(app: String, user: String) -> UInt64 {
        var hasher = Hasher()
        hasher.combine(ExactText(app))
        hasher.combine(ExactText(user))
        return UInt64(truncatingIfNeeded: hasher.finalize())
    }
}
