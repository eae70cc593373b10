import AccessTokens
import AppDefinition
import AppRegistry
import DocumentModel
import FunctionProtocol

/// Signing in as whom the app's own code or the developer's own issuer of tokens says.
extension SignIn {
    /// The app's function says who it is: a string, or a document with `id` and what goes into the profile (`name`, …).
    func byFunction(
        _ provider: AuthProvider, _ credentials: Document, app: DeployedApp, linking: TokenClaims?, client: SignInClient
    ) async throws -> Sessions.Begun {
        guard let function = provider.functionName else {
            throw AuthError(.authProviderNotFound, "the provider has no function")
        }
        var payload = credentials
        payload["options"] = nil
        let subjectOfAttempt = payload.description
        let caller = AttemptThrottle.Caller(address: client.origin.address)
        try await throttle.attempt(.function, app: app.id, subject: subjectOfAttempt, caller: caller)
        let answer: Value
        do {
            answer = try await functions.call(app, function, [.document(payload)])
        } catch let unavailable as AuthError {
            throw unavailable
        } catch let failure as FunctionFailure where failure.code != .functionExecutionError {
            logger.warning("an auth function failed", metadata: ["app": "\(app.id)", "error": "\(failure)"])
            throw AuthError(failed: function, failure)
        } catch {
            // It says no by throwing.
            logger.info("an auth function refused", metadata: ["app": "\(app.id)", "error": "\(error)"])
            throw AuthError(.authError, "the function \(function) refused or failed")
        }
        guard let subject = Self.identity(answer) ?? answer["id"].flatMap(Self.identity), !subject.isEmpty else {
            throw AuthError(.authError, "the function \(function) returned no id")
        }
        try await throttle.succeeded(.function, app: app.id, subject: subjectOfAttempt, caller: caller)
        var profile = answer.documentValue ?? Document()
        profile["id"] = nil
        return try await enter(
            "custom-function", subject: subject, profile: profile, refreshed: [], app: app, linking: linking,
            client: client)
    }

    /// An id as functions return it: a string, or the ObjectId of a document.
    private static func identity(_ value: Value) -> String? { value.stringValue ?? value.objectIdValue?.hexString }

    /// A token of the developer's issuer says who it is; the claims that the app names go into the profile at each sign-in.
    func byToken(
        _ provider: AuthProvider, _ credentials: Document, app: DeployedApp, linking: TokenClaims?, client: SignInClient
    ) async throws -> Sessions.Begun {
        let token = try credentials.requiredString("token")
        let caller = AttemptThrottle.Caller(address: client.origin.address)
        try await throttle.attempt(.token, app: app.id, subject: token, caller: caller)
        let claims = try await issuers.claims(
            of: token, settings: CustomTokenSettings(provider), app: app, now: accounts.clock.seconds)
        guard let subject = claims["sub"]?.stringValue, let profile = provider.metadata(of: claims) else {
            throw AuthError(.authError, "the token lacks a field that the app requires")
        }
        try await throttle.succeeded(.token, app: app.id, subject: token, caller: caller)
        return try await enter(
            "custom-token", subject: subject, profile: profile, refreshed: provider.metadataFields.map(\.fieldName),
            app: app, linking: linking, client: client)
    }
}
