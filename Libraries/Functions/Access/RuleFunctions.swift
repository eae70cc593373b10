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
        do {
            return RuleFunctionResult(try await run(name, arguments, of: app, version: version, user: user))
        } catch let failure as FunctionFailure {
            throw EffectFailure(
                name: failure.code.rawValue, message: "the rule function '\(name)' failed: \(failure.message)")
        }
    }

    /// - Throws: `FunctionFailure`; `DocumentStoreError` when the store is unavailable.
    func run(
        _ name: String, _ arguments: [Value], of app: AppDefinition, version: Int64, user: RuleUser,
        observer: PartitionRules.Observer? = nil
    ) async throws -> Value {
        let documents = DocumentEffects(
            store: store, app: app.id, definition: app,
            observe: { call in
                guard !call.changesDocuments else {
                    throw EffectFailure(name: "MongoDBError", message: "a rule function can't write", code: 13)
                }
                try observer?.reads(call)
            })
        let invocation = FunctionInvocation(
            bundle: FunctionBundle(app, version: version), user: user.id, function: name, arguments: arguments,
            context: FunctionContext(app: app, user: user, isSystem: true).document, limits: limits,
            perform: { effect in
                guard DocumentEffects.handles(effect, app: app) else {
                    observer?.untracked()
                    return .failure(EffectFailure(name: "Error", message: "a rule can't use \(effect.service)"))
                }
                let result = await documents.perform(effect)
                // A failure without a code isn't an answer of the store: the store is unavailable.
                if case .failure(let failure) = result, failure.code == nil { observer?.outage() }
                return result
            },
            readsClock: observer?.untracked,
            log: { [logs] in logs?.add(.init($0, app: app.id, function: name)) })
        let result: Result<Value, any Error>
        do {
            result = .success(try await hosts.run(invocation))
        } catch {
            result = .failure(error)
        }
        await documents.finish()  // ends a transaction that the rule left open
        if let outage = await documents.outage { throw outage }
        if case .failure(let failure as FunctionFailure) = result { logs?.add(failure, app: app.id, function: name) }
        observer?.called(name, arguments, result)
        return try result.get()
    }
}
