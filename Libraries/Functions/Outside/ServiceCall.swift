import AppDefinition
import DocumentModel
import FunctionProtocol
import HTTPClient

/// A function's call of a service of AWS, Twilio or type `http`, by the name that the app gives it.
struct ServiceCall {
    let service: DataSource
    /// The action as rules name it: `send`, `s3:PutObject`.
    let action: String
    /// The arguments as rules see them.
    private let arguments: @Sendable () throws -> Document
    private let request: @Sendable (HTTPClient) async throws -> Value
    /// The request of a service of type `http`, whose redirects the rules are asked about, too.
    private var web: HTTPCall?

    /// - Throws: `EffectFailure` for a service, an interface or an argument that isn't served.
    init(_ effect: FunctionEffect, of app: AppDefinition) throws {
        guard let service = app.dataSources.first(where: { $0.name.hasSameBytes(as: effect.service) }) else {
            throw EffectFailure(name: "ServiceNotFound", message: "service not found: '\(effect.service)'")
        }
        self.service = service
        let settings = ServiceSettings(service: service, app: app)
        switch service.kind {
        case .aws?:
            let call = try AWSCall(effect, settings)
            action = "\(call.interface.name):\(call.action)"
            arguments = { call.arguments }
            request = { try await call.perform(with: $0) }
        case .twilio?:
            let message = try TwilioMessage(effect, settings)
            action = "send"
            arguments = { message.arguments }
            request = { try await message.send(with: $0) }
        case .http?:
            let call = HTTPCall(effect.action.splitAtBytes(".").last ?? "", effect.arguments)
            action = call.action
            arguments = { try call.ruleArguments() }
            request = { try await call.perform(with: $0) }
            web = call
        default:
            throw EffectFailure(
                name: "ServiceNotFound",
                message: "the service '\(service.name)' of type \(service.type) is not supported")
        }
    }

    /// Performs the call if a rule of the service allows it.
    /// - Throws: `EffectFailure`; `HTTPClientError` for an address that the egress policy refuses; `CancellationError`.
    func perform(with client: HTTPClient, as access: DataAccess) async throws -> Value {
        guard try await isAllowed(action, arguments, to: access) else {
            throw EffectFailure(
                name: RuleRefusal.code,
                message: "no rule of the service '\(service.name)' allows this user to call \(action)")
        }
        do {
            guard let web, case .user = access, !service.rules.isEmpty else { return try await request(client) }
            return try await web.perform(with: client) { next in
                guard try await isAllowed(next.action, next.ruleArguments, to: access) else {
                    throw EffectFailure(
                        name: RuleRefusal.code,
                        message:
                            "no rule of the service '\(service.name)' allows this user to call \(next.action) on the URL that \(action) was redirected to"
                    )
                }
            }
        } catch let error as HTTPClientError where error.code != .refused {
            let name =
                switch service.kind {
                case .aws?: AWSCall.error
                case .twilio?: TwilioMessage.error
                default: HTTPCall.error
                }
            throw EffectFailure(name: name, message: "\(service.name), \(action): \(error)")
        }
    }

    private func isAllowed(
        _ action: String, _ arguments: () throws -> Document, to access: DataAccess
    ) async throws -> Bool {
        guard case .user(let user) = access else { return true }
        // context.http, which needs no rule, can send the same requests.
        if service.kind == .http, service.rules.isEmpty { return true }
        let arguments = try arguments()
        for rule in service.rules where rule.covers(action) {
            do {
                if try await user.holds(rule.when, arguments: arguments) { return true }
            } catch let error as CancellationError {
                throw error
            } catch {
                throw EffectFailure(error)
            }
        }
        return false
    }
}
