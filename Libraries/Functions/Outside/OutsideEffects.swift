public import AppDefinition
public import DocumentModel
import EventLoop
public import FunctionProtocol
public import HTTPClient
import Texts

/// Performs the effects of functions other than document calls: HTTP requests, and calls of other vendors' services.
public struct OutsideEffects: Sendable {
    private let http: HTTPClient
    /// The client's requests, which are shared fairly among apps, and within an app among its users: servers that don't answer hold up only those
    /// who ask them.
    private let turns: FairGate<ExactText>
    /// How long a request waits for its turn.
    private static let patience = Duration.seconds(30)

    /// - Parameter http: sends the requests; its egress policy and its limits hold for all of them.
    public init(http: HTTPClient) {
        self.http = http
        turns = FairGate(places: http.maximumRequests, waiting: 0)
    }

    /// - Parameters:
    ///   - access: on whose behalf the function that has the effect runs; a user needs the permission of a service's rules.
    ///   - user: who has called the function; `nil` for the app itself.
    public func perform(
        _ effect: FunctionEffect, of app: AppDefinition, as access: DataAccess, for user: String? = nil
    ) async -> Result<Value, EffectFailure> {
        let owner = ExactText(app.id), member = user.map { ExactText($0) }
        do {
            // Those that wait are limited by the calls of functions, and what each may have in flight.
            try await turns.enter(owner, member: member, within: Self.patience, isCounted: false)
        } catch {
            return .failure(
                EffectFailure(name: "HTTPError", message: "\(effect.service).\(effect.action): \(error)"))
        }
        defer { turns.leave(owner, member: member) }
        return await performNow(effect, of: app, as: access)
    }

    private func performNow(
        _ effect: FunctionEffect, of app: AppDefinition, as access: DataAccess
    ) async -> Result<Value, EffectFailure> {
        // A service may have that name, too; its actions have names of their own (`http.get`).
        let isRequest = effect.service == "http" && !effect.action.startsWithBytes(of: "http.")
        do {
            guard !isRequest else {
                return .success(try await HTTPCall(effect.action, effect.arguments).perform(with: http))
            }
            return .success(try await ServiceCall(effect, of: app).perform(with: http, as: access))
        } catch let failure as EffectFailure {
            return .failure(failure)
        } catch let error as HTTPClientError where error.code == .refused {
            return .failure(
                EffectFailure(
                    name: "RestrictedHost", message: "\(effect.service).\(effect.action): \(error.message)"))
        } catch {
            let code = (error as? HTTPClientError)?.systemCode
            return .failure(
                EffectFailure(
                    name: "HTTPError",
                    message: isRequest ? "\(error)" : "\(effect.service).\(effect.action): \(error)",
                    details: code.map { ["code": .string($0)] } ?? [:]))
        }
    }
}

extension HTTPClientError {
    /// The `code` of Node's error, by which packages decide whether they try again; `nil` if it has none.
    fileprivate var systemCode: String? {
        switch code {
        case .resolve: "ENOTFOUND"
        case .connect: "ECONNREFUSED"
        case .connectionLost: "ECONNRESET"
        case .timeout: "ETIMEDOUT"
        default: nil
        }
    }
}
