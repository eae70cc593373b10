import AppRegistry
import DocumentModel

/// Calls a function of an app as the system user.
struct FunctionCaller: Sendable {
    /// - Throws: what the function throws; `AuthError` with `serviceUnavailable` when it, or the database that it uses, isn't available, so
    ///   that it has decided nothing.
    var call: @Sendable (_ app: DeployedApp, _ function: String, _ arguments: [Value]) async throws -> Value

    init(
        _ call: @escaping @Sendable (_ app: DeployedApp, _ function: String, _ arguments: [Value]) async throws -> Value
    ) {
        self.call = call
    }
}
