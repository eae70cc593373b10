import AppDefinition
import EventLoop
import HTTPServer
import ServiceBootstrap

/// Limits the calls of HTTPS endpoints and webhooks a minute: those of one caller at one of them, and of all callers at one of them and at
/// an app's together. A minute's worth may come at once. Each process counts for itself.
final class EndpointLimits: Sendable {
    static let callerCalls = ConfigurationKey<Int>.int(
        "endpoints.caller-calls", default: 1200, range: 1...1_000_000,
        "Calls a minute of one HTTPS endpoint or webhook by one user, or by one address where no user is needed.")
    static let calls = ConfigurationKey<Int>.int(
        "endpoints.calls", default: 12_000, range: 1...10_000_000,
        "Calls a minute of one HTTPS endpoint or webhook by everybody.")
    static let appCalls = ConfigurationKey<Int>.int(
        "endpoints.app-calls", default: 36_000, range: 1...10_000_000,
        "Calls a minute of all HTTPS endpoints and webhooks of one app.")
    static let keys = [callerCalls.description, calls.description, appCalls.description]

    private let perCaller: Int64
    private let perEndpoint: Int64
    private let perApp: Int64
    private let counts = Locked(LocalCounts())

    init(_ configuration: Configuration) {
        perCaller = Int64(configuration[Self.callerCalls])
        perEndpoint = Int64(configuration[Self.calls])
        perApp = Int64(configuration[Self.appCalls])
    }

    /// Counts a call.
    ///
    /// - Parameters:
    ///   - endpoint: its name within the app.
    ///   - user: the calling user's id; `nil`: the address is counted.
    /// - Throws: `HTTPError` 429 `TooManyRequests`; a refused call isn't counted.
    func spend(app: String, endpoint: String, user: String?, _ request: HTTPRequest) throws(HTTPError) {
        // No part has a U+0000, which the texts of definitions, tokens and paths can't have.
        let place = "\(app)\0\(endpoint)"
        let caller = user.map { "user\0\($0)" } ?? "address\0\(request.remoteAddress.network)"
        let wait = counts.withLock { counts in
            counts.spend([
                ("\(place)\0\(caller)", perCaller), ("endpoint\0\(place)", perEndpoint), ("app\0\(app)", perApp),
            ])
        }
        guard wait > 0 else { return }
        TriggerMetrics.throttledCalls.increment()
        let seconds = (wait + 999) / 1000
        throw HTTPError(
            429, code: "TooManyRequests", "too many calls of this endpoint; try again in \(seconds) s",
            headers: ["Retry-After": "\(seconds)"])
    }
}
