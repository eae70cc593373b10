/// The app's settings of the data API: documents over plain HTTP.
public struct DataAPI: Sendable {
    /// Must hold for the caller; `nil` allows every signed-in user.
    public var canEvaluate: RuleExpression?
    /// Whether answers are Extended JSON where the request doesn't say.
    public var returnsExtendedJSON = false
    /// Requests run as this user, whoever called.
    public var runAsUserId: String?
}
