import AppRegistry
import DocumentModel
import DocumentStore
import FunctionProtocol
import Functions

/// Runs an app's functions for auth: confirmation, reset and custom authentication, as system, in host processes.
struct AppFunctions: Sendable {
    let pool: FunctionHostPool
    let store: DocumentStore
    let outside: OutsideEffects
    let logs: FunctionLogs
    /// Somebody waits for the answer of their sign-in.
    var limits = FunctionInvocation.Limits(cpu: 5, wall: .seconds(30))

    var caller: FunctionCaller {
        FunctionCaller { app, function, arguments in try await call(app, function, arguments) }
    }

    /// Whom a call is about: nobody has signed in, and if all were the same user, a call that obstructs others would have all run apart.
    private static func caller(_ arguments: [Value]) -> String {
        if let name = arguments.first?.documentValue?["username"]?.stringValue { return name }
        return String(Fingerprint(ExtendedJSON.print(.array(arguments)).utf8).value, radix: 16)
    }

    private func call(_ app: DeployedApp, _ function: String, _ arguments: [Value]) async throws -> Value {
        let effects = DocumentEffects(store: store, app: app.id, definition: app.definition)
        let invocation = FunctionInvocation(
            bundle: FunctionBundle(app.definition, version: app.version), user: Self.caller(arguments),
            function: function, arguments: arguments,
            context: FunctionContext(app: app.definition, isSystem: true).document, limits: limits,
            perform: { effect in
                guard DocumentEffects.handles(effect, app: app.definition) else {
                    return await outside.perform(effect, of: app.definition, as: .system)
                }
                return await effects.perform(effect)
            },
            finish: { await effects.finish() },
            log: { logs.add(.init($0, app: app.id, function: function)) })
        do {
            return try await pool.run(invocation)
        } catch let failure as FunctionFailure {
            logs.add(failure, app: app.id, function: function)
            let hasOutage = await effects.outage != nil
            guard failure.code == .hostLost || failure.waitedForOthers || hasOutage else { throw failure }
            throw AuthError(.serviceUnavailable, "the function \(function) can't run now; try again later")
        }
    }
}
