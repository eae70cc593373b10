import AppDefinition
import AppRegistry
import DocumentModel
import EventTopics
import Logging

/// What everything that deals with accounts works with.
struct AccountService: Sendable {
    var apps: AppDirectory
    var store: AccountStore
    var hasher: PasswordHasher
    var throttle: AttemptThrottle
    var budget: CallBudget
    var keys: SigningKeyRing
    var issuers: TokenIssuers
    var relay: AuthEventRelay
    var mail: MailSender
    var functions: FunctionCaller
    var customData: CustomDataReader
    var clock: WallClock
    var lifetimes: TokenLifetimes
    var metrics: AuthMetrics
    var logger: Logger

    /// How long tokens live, in seconds.
    struct TokenLifetimes: Sendable {
        var access: Int64 = 1800
        var refresh: Int64 = 60 * 86_400
        /// For how long the refresh token before the newest is still good: its answer may have been lost.
        var rotationLeeway: Int64 = 30
        /// For how long a link in a mail works.
        var mail: Int64 = 1800
    }

    /// - Throws: `appNotFound`.
    func app(_ id: String) throws -> DeployedApp {
        guard let app = apps.app(id) else {
            throw AuthError(.appNotFound, "cannot find app using Client App ID '\(id)'")
        }
        return app
    }

    /// A provider that the app has and hasn't disabled.
    ///
    /// - Throws: `authProviderNotFound`.
    func provider(_ name: String, of app: DeployedApp) throws -> AuthProvider {
        guard let provider = app.definition.authProvider(name), !provider.isDisabled else {
            throw AuthError(.authProviderNotFound, "the app has no auth provider '\(name)', or it is disabled")
        }
        return provider
    }

    /// Runs statements together and lets the events that they wrote leave at once.
    nonisolated(nonsending) func transaction<Result>(
        _ body: nonisolated(nonsending) (AccountTables) async throws -> Result
    ) async throws -> Result {
        let result = try await store.transaction(body)
        relay.poke()
        return result
    }

    /// An event about a user, to be written in the transaction of what it tells.
    func event(
        _ kind: AuthEvent.Kind, _ user: User, providers: [String] = [], session: String? = nil, device: String? = nil
    ) -> AuthEvent {
        AuthEvent(
            id: ObjectId().hexString, app: user.app, kind: kind, userID: user.id, user: user.document,
            providers: providers, session: session, device: device, time: clock.now())
    }
}

/// Calls a function of an app, as system.
struct FunctionCaller: Sendable {
    /// - Throws: whatever the function throws, and what keeps it from running.
    var call: @Sendable (_ app: DeployedApp, _ function: String, _ arguments: [Value]) async throws -> Value

    init(
        _ call: @escaping @Sendable (_ app: DeployedApp, _ function: String, _ arguments: [Value]) async throws -> Value
    ) {
        self.call = call
    }

    /// Where no host for functions runs: every call fails.
    static let none = FunctionCaller { _, function, _ in
        throw AuthError(.functionExecutionError, "the function \(function) can't run: no function host is configured")
    }
}

/// Where a call comes from.
struct CallOrigin: Sendable {
    /// The address of the caller, for counting attempts; empty when it isn't known.
    var address: String
    /// What the calling program says that it is (`User-Agent`), cut after 256 bytes.
    var agent = ""
}
