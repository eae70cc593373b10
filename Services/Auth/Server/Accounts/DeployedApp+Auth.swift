import AppDefinition
import AppRegistry

extension AppDirectory {
    /// - Throws: `appNotFound`.
    func required(_ id: String) throws -> DeployedApp {
        guard let app = app(id) else {
            throw AuthError(.appNotFound, "cannot find app using Client App ID '\(id)'")
        }
        return app
    }
}

extension DeployedApp {
    /// A provider that the app has and that isn't disabled.
    ///
    /// - Throws: `authProviderNotFound`.
    func provider(_ name: String) throws -> AuthProvider {
        guard let provider = definition.authProvider(name), !provider.isDisabled else {
            throw AuthError(.authProviderNotFound, "the app has no auth provider '\(name)', or it is disabled")
        }
        return provider
    }
}
