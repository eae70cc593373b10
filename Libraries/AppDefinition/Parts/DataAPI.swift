/// The app's settings of the data API: documents over plain HTTP.
public struct DataAPI: Sendable {
    /// The rule that must hold for the caller; `nil` allows every signed-in user.
    public var canEvaluate: RuleExpression?
    /// Whether answers are Extended JSON by default.
    public var returnsExtendedJSON = false
    /// Requests run as this user, whoever the caller is; `nil`: as the caller.
    public var runAsUserId: String?
}
