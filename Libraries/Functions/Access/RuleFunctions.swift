import AppDefinition
import DocumentModel
public import DocumentStore
import FunctionProtocol
public import Logging

/// Runs the functions that data rules call. They run as the system, so that no rule depends on itself, and can only read documents.
///
/// They have a pool of hosts of their own. A function whose call waits for a rule occupies a host; if the rule needed a host of the
/// same pool, they could deadlock.
public struct RuleFunctions: Sendable {
    private let hosts: FunctionHostPool
    private let store: DocumentStore
    private let logger: Logger
    /// A rule function that takes longer fails, which denies access.
    private let limits = FunctionInvocation.Limits(cpu: 2, wall: .seconds(10))

    public init(hosts: FunctionHostPool, store: DocumentStore, logger: Logger) {
        self.hosts = hosts
        self.store = store
        self.logger = logger
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
            log: { [logger] line in
                logger.debug(
                    "rule function's console",
                    metadata: ["function": "\(name)", "level": "\(line.level)", "text": "\(line.message)"])
            })
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
            throw EffectFailure(
                name: failure.code.rawValue, message: "the rule function '\(name)' failed: \(failure.message)")
        }
    }
}
