import AccessTokens
import AppDefinition
import AppRegistry
import DocumentModel
import DocumentStore
import Foundation
import FunctionProtocol
import Functions
import HTTPServer

/// `POST /api/client/v2.0/app/{app}/functions/call`: a client calls a function of the app.
struct FunctionCallRoute: Sendable {
    let apps: AppDirectory
    let verifier: TokenVerifier
    let store: DocumentStore
    let functions: FunctionHostPool
    let effects: OutsideEffects
    let logs: FunctionLogs

    func handle(_ request: HTTPRequest) async throws -> HTTPResponse {
        let id = try request.parameters.require("app")
        guard let app = apps.app(id) else { throw HTTPError(404, code: "AppNotFound", "no app \(id) is deployed") }
        let user = try caller(request, app: id)
        let body = try Self.body(request)
        guard let name = body["name"]?.stringValue else {
            throw HTTPError(400, code: "MissingParameter", "name is missing")
        }
        if let service = body["service"]?.stringValue {
            throw HTTPError(
                400, code: "ServiceCommandNotFound", "calls of the service \(service) by clients are not supported")
        }
        guard let function = app.definition.function(name), !function.isPrivate else {
            throw HTTPError(404, code: "FunctionNotFound", "function not found: '\(name)'")
        }
        let arguments = body["arguments"]?.arrayValue ?? []
        if let rule = function.canEvaluate,
            try await !rule.evaluate(
                RuleContext(app: app.definition, user: user),
                callFunction: { function, arguments in
                    RuleFunctionResult(try await run(function, arguments, app: app, user: user, isSystem: true))
                })
        {
            throw HTTPError(
                403, code: "NoMatchingRuleFound", "the rule of '\(name)' doesn't allow this user to call it")
        }
        do {
            let value = try await run(name, arguments, app: app, user: user, isSystem: function.runsAsSystem)
            if case .undefined = value { return .json(#"{"$undefined":true}"#) }
            return .json(ExtendedJSON.print(value))
        } catch let failure as FunctionFailure {
            throw HTTPError(400, code: failure.code.rawValue, failure.message)
        }
    }

    private func run(
        _ function: String, _ arguments: [Value], app: DeployedApp, user: RuleUser, isSystem: Bool
    ) async throws -> Value {
        let documents = DocumentEffects(store: store, app: app.id)
        defer { Task { await documents.finish() } }  // nothing waits for a transaction that was left open
        return try await functions.run(
            FunctionInvocation(
                bundle: FunctionBundle(app.definition, version: app.version), function: function, arguments: arguments,
                context: FunctionContext(app: app.definition, user: user, isSystem: isSystem).document,
                perform: { effect in
                    guard DocumentEffects.handles(effect, app: app.definition) else {
                        return await effects.perform(effect)
                    }
                    guard isSystem else {
                        return .failure(
                            EffectFailure(
                                name: "NoMatchingRuleFound",
                                message:
                                    "'\(function)' doesn't run as system, and rules for single documents are not supported"
                            ))
                    }
                    return await documents.perform(effect)
                },
                log: { level, message in
                    logs.add(.init(app: app.id, function: function, level: level, message: message))
                }))
    }

    private func caller(_ request: HTTPRequest, app: String) throws -> RuleUser {
        guard let header = request.headers["authorization"], header.lowercased().hasPrefix("bearer ") else {
            throw HTTPError(401, code: "InvalidSession", "an access token is needed: Authorization: Bearer …")
        }
        do {
            let claims = try verifier.verify(
                String(header.dropFirst(7)), app: app, now: Int64(Date().timeIntervalSince1970))
            return RuleUser(
                id: claims.user, type: claims.userType, data: claims.data, customData: claims.customData ?? [:],
                identities: claims.identities)
        } catch {
            throw HTTPError(401, code: "InvalidSession", error.message)
        }
    }

    private static func body(_ request: HTTPRequest) throws -> Document {
        do {
            return try ExtendedJSON.parseDocument(request.body)
        } catch {
            throw HTTPError(400, code: "BadRequest", "the body is no Extended JSON object: \(error)")
        }
    }
}
