import AppDefinition
import DocumentModel
public import DocumentStore
import FunctionProtocol

/// Runs the functions that data rules call. They run as the system, so that no rule depends on itself, and can only read documents.
///
/// They have a pool of hosts of their own. A function whose call waits for a rule occupies a host; if the rule needed a host of the
/// same pool, they could deadlock.
public struct RuleFunctions: Sendable {
    private let hosts: FunctionHostPool
    private let store: DocumentStore
    private let logs: FunctionLogs?
    /// A rule function that takes longer fails, which denies access.
    private let limits = FunctionInvocation.Limits(cpu: 2, wall: .seconds(10))

    /// - Parameter logs: keep what the functions write to their console, and how they fail.
    public init(hosts: FunctionHostPool, store: DocumentStore, logs: FunctionLogs? = nil) {
        self.hosts = hosts
        self.store = store
        self.logs = logs
    }

    /// - Throws: `EffectFailure` when the function failed; `DocumentStoreError` when the store is unavailable.
    func call(
        _ name: String, _ arguments: [Value], of app: AppDefinition, version: Int64, user: RuleUser
    ) async throws -> RuleFunctionResult {
        let documents = DocumentEffects(
            store: store, app: app.id, definition: app,
            observe: { call in
                guard !call.isWrite else {
                    throw EffectFailure(name: "MongoDBError", message: "a rule function can't write", code: 13)
                }
            })
        let invocation = FunctionInvocation(
            bundle: FunctionBundle(app, version: version), user: user.id, function: name, arguments: arguments,
            context: FunctionContext(app: app, user: user, isSystem: true).document, limits: limits,
            perform: { effect in
                guard DocumentEffects.handles(effect, app: app) else {
                    return .failure(EffectFailure(name: "Error", message: "a rule can't use \(effect.service)"))
                }
                return await documents.perform(effect)
            },
            log: { [logs] in logs?.add(.init($0, app: app.id, function: name)) })
        let result: Result<Value, any Error>
        do {
            result = .success(try await hosts.run(invocation))
        } catch {
            result = .failure(error)
        }
        await documents.finish()
        if let outage = await documents.outage { throw outage }
        do {
            return RuleFunctionResult(try result.get())
        } catch let failure as FunctionFailure {
            logs?.add(failure, app: app.id, function: name)
            throw EffectFailure(
                name: failure.code.rawValue, message: "the rule function '\(name)' failed: \(failure.message)")
        }
    }
}
