import AppDefinition
import AppRegistry
import DocumentModel
import DocumentStore
import FunctionProtocol
import Functions
import HTTPServer
import ServiceEngines

/// Runs functions that clients call: as the system if the function is configured so, otherwise under the data rules of the user for
/// whom it runs.
struct ClientFunctions: Sendable {
    let apps: AppDirectory
    let store: DocumentStore
    let turns: DocumentTurns
    let hosts: FunctionHostPool
    let rules: RuleFunctions
    let effects: OutsideEffects
    let shutOut: ShutOutTable
    let logs: FunctionLogs

    /// One call of a client.
    struct Call: Sendable {
        let app: DeployedApp
        /// The user for whom it runs; `nil` for the system, which only endpoints have as caller.
        var user: RuleUser?
        /// Whose turns it takes: the calling user's id, or a caller's address.
        let member: String
        /// `context.request` and `%%request`.
        let request: Document

        init(app: DeployedApp, user: RuleUser, request: Document) {
            self.init(app: app, user: user, member: user.id, request: request)
        }

        init(app: DeployedApp, user: RuleUser?, member: String, request: Document) {
            self.app = app
            self.user = user
            self.member = member
            self.request = request
        }
    }

    /// Runs a function by its name, which must not be private.
    /// - Throws: `HTTPError` when the call isn't allowed; `FunctionFailure`.
    func run(_ name: String, _ arguments: [Value], _ call: Call) async throws -> Value {
        guard let function = call.app.definition.function(name), !function.isPrivate else {
            throw HTTPError(404, code: "FunctionNotFound", "function not found: '\(name)'")
        }
        return try await runAllowed(function, arguments, call, givesResponse: false)
    }

    /// Runs the function of an endpoint, which may be private.
    /// - Returns: `{result, response}`, as ``FunctionCall/givesResponse`` says.
    /// - Throws: `HTTPError` when the call isn't allowed; `FunctionFailure`.
    func respond(_ function: FunctionDefinition, to payload: Value, _ call: Call) async throws -> Value {
        try await runAllowed(function, [payload], call, givesResponse: true)
    }

    /// Runs a function for a caller who may call it: as the system or as the user that its settings or its script choose, or else as
    /// the caller.
    private func runAllowed(
        _ function: FunctionDefinition, _ arguments: [Value], _ call: Call, givesResponse: Bool
    ) async throws -> Value {
        try await checkRule(of: function, call)
        let app = call.app.definition
        var function = function
        var acting = call
        if let script = function.userFunction.flatMap(app.function) {
            let choice = try await run(script, arguments, call, givesResponse: false)
            if !function.runsAsSystem, function.runAsUserId == nil { try function.run(as: choice) }
        }
        if let id = function.runAsUserId { acting.user = try await shutOut.actingUser(id, of: app, in: store) }
        return try await run(function, arguments, acting, givesResponse: givesResponse)
    }

    private func checkRule(of function: FunctionDefinition, _ call: Call) async throws {
        guard let rule = function.canEvaluate else { return }
        let mayCall: Bool
        do { mayCall = try await access(call).holds(rule) } catch { throw HTTPError(call: error) }
        guard mayCall else {
            throw HTTPError(
                403, code: "NoMatchingRuleFound",
                "the rule of '\(function.name)' doesn't allow this user to call it")
        }
    }

    /// What the caller may do; the system as a caller fulfils only rules that don't ask for a user.
    func access(_ call: Call) -> UserAccess { access(call, by: call.app) }

    private func access(_ call: Call, by app: DeployedApp) -> UserAccess {
        UserAccess(
            call.user ?? RuleUser(id: "", type: "system"), of: app.definition, version: app.version,
            request: call.request, functions: rules)
    }

    /// What the caller may do now: the rules of a deployment also apply to calls that had begun before it.
    private func present(_ access: UserAccess, _ call: Call) -> UserAccess {
        guard let app = apps.app(call.app.id), app.version != call.app.version else { return access }
        return self.access(call, by: app)
    }

    private func run(
        _ function: FunctionDefinition, _ arguments: [Value], _ call: Call, givesResponse: Bool
    ) async throws -> Value {
        let definition = call.app.definition
        let user = access(call)
        let isSystem = function.runsAsSystem
        let systemFunctions = Set(texts: definition.functions.filter(\.runsAsSystem).map(\.name))
        let access: @Sendable (FunctionEffect) -> DataAccess = {
            isSystem || systemFunctions.contains($0.function) ? .system : .user(present(user, call))
        }
        let documents = DocumentEffects(
            store: store, app: definition.id, definition: definition, turns: turns, user: call.member, access: access)
        let name = function.name
        let invocation = FunctionInvocation(
            bundle: FunctionBundle(definition, version: call.app.version), user: call.member, function: name,
            arguments: arguments,
            context: FunctionContext(app: definition, user: call.user, isSystem: isSystem, request: call.request)
                .document,
            givesResponse: givesResponse,
            perform: { effect in
                guard DocumentEffects.handles(effect, app: definition) else {
                    return await effects.perform(effect, of: definition, as: access(effect), for: call.member)
                }
                return await documents.perform(effect)
            },
            finish: { await documents.finish() },
            log: { logs.add(.init($0, app: definition.id, function: name)) })
        let result: Result<Value, any Error>
        do { result = .success(try await hosts.run(invocation)) } catch { result = .failure(error) }
        switch result {
        case .failure(let failure as FunctionFailure):
            logs.add(failure, app: definition.id, function: name)
        case .failure where Task.isCancelled:
            logs.add(
                .init(
                    app: definition.id, function: name, level: "warn",
                    message: "Cancelled: the client hung up, the function was ended"))
        default: break
        }
        return try result.get()
    }

    /// A caller with the present custom data.
    func present(_ user: RuleUser, of app: AppDefinition) async throws(HTTPError) -> RuleUser {
        do {
            return try await user.withPresentCustomData(of: app, in: store)
        } catch {
            throw HTTPError(call: error)
        }
    }
}

extension FunctionDefinition {
    /// Sets as whom it runs: what its script (`userFunction`) answered.
    fileprivate mutating func run(as choice: Value) throws(HTTPError) {
        if let user = choice.stringValue, !user.isEmpty {
            runAsUserId = user
        } else if choice["runAsSystem"] == true {
            runsAsSystem = true
        } else {
            throw HTTPError(403, code: "NoMatchingRuleFound", "the script of '\(name)' chose no user for this call")
        }
    }
}
