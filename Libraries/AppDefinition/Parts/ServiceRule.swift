/// A rule of a service of AWS, Twilio or type `http` (`rules/<name>.json`). Functions that run as a user may call only actions that a rule
/// allows, except for a service of type `http` without rules; functions that run as the system may call all.
public struct ServiceRule: Sendable {
    public var name: String
    /// Its file inside the app's folder, for messages.
    public var file: String
    /// `send`; `get`, `post`, …; for AWS the interface and the action, `s3:PutObject`, or `s3:*` for all of the interface.
    public var actions: [String]
    /// What must hold of the caller (`%%user`) and of the action's arguments (`%%args`).
    public var when: RuleExpression

    /// Whether the rule is about this action.
    public func covers(_ action: String) -> Bool {
        let interface = action.splitAtBytes(":").first ?? action
        return actions.contains {
            $0.hasSameBytes(as: action) || $0.hasSameBytes(as: "\(interface):*") || $0.hasSameBytes(as: "*")
        }
    }
}
