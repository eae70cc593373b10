import AppDefinition
import HTTPServer
import ServiceBootstrap
import ServiceEngines

/// Limits the calls of HTTPS endpoints and webhooks a minute: those of one caller at one of them, and of all callers at one of them and at
/// an app's together. A minute's worth may come at once. All processes count together.
struct EndpointLimits: Sendable {
    static let callerCalls = ConfigurationKey<Int>.int(
        "endpoints.caller-calls", default: 1200, range: 1...1_000_000,
        "Calls a minute of one HTTPS endpoint or webhook by one user; by one address where no user, or only an anonymous one, is needed."
    )
    static let calls = ConfigurationKey<Int>.int(
        "endpoints.calls", default: 12_000, range: 1...10_000_000,
        "Calls a minute of one HTTPS endpoint or webhook by everybody.")
    static let appCalls = ConfigurationKey<Int>.int(
        "endpoints.app-calls", default: 36_000, range: 1...10_000_000,
        "Calls a minute of all HTTPS endpoints and webhooks of one app.")
    static let keys = [callerCalls.description, calls.description, appCalls.description]

    private let counts: SharedCounts
    private let perCaller: Int
    private let perEndpoint: Int
    private let perApp: Int

    init(counts: SharedCounts, _ configuration: Configuration) {
        self.counts = counts
        perCaller = configuration[Self.callerCalls]
        perEndpoint = configuration[Self.calls]
        perApp = configuration[Self.appCalls]
    }

    /// Who calls: whose calls are counted by themselves.
    enum Caller {
        case user(String)
        case address(UInt64)
    }

    /// Counts a call.
    ///
    /// - Parameters:
    ///   - endpoint: its name within the app.
    ///   - isRefused: Whether the call is refused for what it lacks. It is counted for its caller alone: who can't call an endpoint
    ///     doesn't keep others from it.
    /// - Throws: `HTTPError` 429 `TooManyRequests`; a call that exceeds a limit isn't counted.
    func spend(app: String, endpoint: String, _ caller: Caller, isRefused: Bool) async throws {
        // No part has a U+0000, which the texts of definitions, tokens and paths can't have.
        let place = "\(app)\0\(endpoint)"
        let name =
            switch caller {
            case .user(let id): "user\0\(id)"
            case .address(let network): "address\0\(network)"
            }
        var limits = [("\(place)\0\(name)", perCaller)]
        if !isRefused { limits += [("endpoint\0\(place)", perEndpoint), ("app\0\(app)", perApp)] }
        let wait = try await counts.spend(limits)
        guard wait > 0 else { return }
        TriggerMetrics.throttledCalls.increment()
        let seconds = (wait + 999) / 1000
        throw HTTPError(
            429, code: "TooManyRequests", "too many calls of this endpoint; try again in \(seconds) s",
            headers: ["Retry-After": "\(seconds)"])
    }
}
