import AppDefinition
import AppRegistry
import DocumentModel
import DocumentStore
import EventLoop
import EventTopics
import FunctionProtocol
import Functions
import Logging
import QueryLanguage
import ServiceEngines

/// Evaluates the app's rules, including their functions, on who may open a partition.
struct RuleEvaluator: Sendable {
    let store: DocumentStore
    let functions: FunctionHostPool
    let logger: Logger
    /// The limits of a rule function; exceeding them denies access.
    var limits = FunctionInvocation.Limits(cpu: 2, wall: .seconds(10))

    /// - Parameter claims: the access token's claims about the user, of which the custom data isn't used.
    /// - Throws: the reason why there is no answer: the document store is unavailable, or a function failed. A missing answer must
    ///   not be stored as a denial.
    func verdict(on subject: Subject, claims: Document, app: DeployedApp) async throws -> Verdict {
        guard let sync = app.definition.sync, sync.isEnabled else {
            return Verdict(access: .none, reason: "the app doesn't sync", dependencies: [])
        }
        guard let value = subject.partition.value, sync.partitionType.allows(value) else {
            return Verdict(
                access: .none, reason: "the partition value is no \(sync.partitionType.rawValue)", dependencies: [])
        }
        let recorder = Recorder()
        let user = try await RuleUser(claims: claims, id: subject.user)
            .withPresentCustomData(of: app.definition, in: store)
        if let place = app.definition.customUserData, place.isEnabled { try recorder.depend(on: place, of: user) }
        let context = RuleContext(app: app.definition, user: user, partition: value)
        let call = caller(app, user: user, recorder: recorder)
        let mayWrite: Bool, mayRead: Bool
        do {
            mayWrite = try await sync.write.evaluate(context, callFunction: call)
            mayRead = mayWrite ? true : try await sync.read.evaluate(context, callFunction: call)
        } catch  where recorder.used.isInterrupted {
            throw Interrupted()
        }
        let used = recorder.used
        return Verdict(
            access: mayWrite ? .write : mayRead ? .read : .none,
            reason: mayWrite
                ? "sync.partition.permissions.write"
                : mayRead ? "sync.partition.permissions.read" : "no rule allows it",
            dependencies: used.dependencies, isUntracked: used.isUntracked)
    }

    private func caller(_ app: DeployedApp, user: RuleUser, recorder: Recorder) -> RuleExpression.FunctionCall {
        { name, arguments in
            let effects = DocumentEffects(store: store, app: app.id, observe: { try recorder.record($0) })
            let invocation = FunctionInvocation(
                bundle: FunctionBundle(app.definition, version: app.version), user: user.id, function: name,
                arguments: arguments,
                context: FunctionContext(app: app.definition, user: user, isSystem: true).document, limits: limits,
                perform: { effect in
                    guard DocumentEffects.handles(effect, app: app.definition) else {
                        recorder.meetUntracked()
                        return .failure(
                            EffectFailure(name: "Error", message: "a rule can't use \(effect.service)"))
                    }
                    let result = await effects.perform(effect)
                    // A failure without a code isn't an answer of the store: the store is unavailable.
                    if case .failure(let failure) = result, failure.code == nil { recorder.meetOutage() }
                    return result
                },
                log: { line in
                    logger.debug(
                        "rule function's console",
                        metadata: ["function": "\(name)", "level": "\(line.level)", "text": "\(line.message)"])
                })
            let result: Result<Value, any Error>
            do {
                result = .success(try await functions.run(invocation))
            } catch {
                result = .failure(error)
            }
            await effects.finish()  // ends a transaction that the rule left open
            if let outage = await effects.outage { throw outage }
            return RuleFunctionResult(try result.get())
        }
    }

    /// The document store was unavailable while a rule function called it.
    struct Interrupted: Error {}

    /// Records what the functions of one verdict read.
    private final class Recorder: Sendable {
        private let state = Locked((dependencies: Set<Dependency>(), isUntracked: false, isInterrupted: false))

        var used: (dependencies: Set<Dependency>, isUntracked: Bool, isInterrupted: Bool) { state.withLock { $0 } }

        func record(_ call: DocumentCall) throws {
            guard !call.isWrite else {
                throw EffectFailure(name: "MongoDBError", message: "a rule function can't write", code: 13)
            }
            let dependency = try Dependency(call)
            state.withLock { state in
                state.dependencies.insert(dependency)
                if call.asksForPresent { state.isUntracked = true }  // no change reports its end
            }
        }

        /// A change of the user's custom data may change the answer, like that of any document that a rule reads.
        func depend(on place: CustomUserData, of user: RuleUser) throws {
            let filter = try Filter([place.userIdField: .string(user.id)])
            let dependency = Dependency(database: place.database, collection: place.collection, filter: filter)
            state.withLock { _ = $0.dependencies.insert(dependency) }
        }

        func meetOutage() { state.withLock { $0.isInterrupted = true } }

        func meetUntracked() { state.withLock { $0.isUntracked = true } }
    }
}

extension SyncConfiguration.PartitionType {
    /// Whether the partition key can have this value.
    func allows(_ value: Value) -> Bool {
        switch (self, value) {
        case (.string, .string), (.objectId, .objectId), (.long, .int64), (.long, .int32), (.uuid, .binary): true
        default: false
        }
    }
}

extension RuleUser {
    /// - Parameter claims: as in a permission request: `type`, `data`, `custom_data`, `identities`.
    init(claims: Document, id: String) {
        self.init(
            id: id, type: claims["type"]?.stringValue ?? "normal", data: claims["data"]?.documentValue ?? [:],
            customData: claims["custom_data"]?.documentValue ?? [:],
            identities: (claims["identities"]?.arrayValue ?? []).compactMap(\.documentValue))
    }
}
