import DocumentModel
import Foundation

extension DefinitionReader {
    /// `auth/providers.json` (one object for all) or `auth_providers/<provider>.json`.
    func authProviders() -> [AuthProvider] {
        let older = files.files(in: "auth_providers", suffix: ".json")
        guard files["auth/providers.json"] != nil else { return older.compactMap(json).compactMap(authProvider) }
        for file in older {
            log.add(
                .partShadowed, severity: .warning, file: file,
                "not used, since auth/providers.json is there: remove one of them")
        }
        return (json("auth/providers.json")?.entries ?? []).map(\.node).compactMap(authProvider)
    }

    private func authProvider(_ node: ConfigNode) -> AuthProvider? {
        guard let type = node.required("type") else { return nil }
        let fields = node.child("metadata_fields")?.elements.compactMap { field in
            field.required("name").map { name in
                AuthProvider.MetadataField(
                    name: name,
                    fieldName: field.string("field_name") ?? AuthProvider.MetadataField.path(name).last ?? name,
                    isRequired: field.bool("required"))
            }
        }
        let provider = AuthProvider(
            name: node.string("name") ?? type, type: type, isDisabled: node.bool("disabled"),
            config: node.document("config"), secretConfig: node.document("secret_config"), metadataFields: fields ?? [],
            redirectURIs: node.strings("redirect_uris"),
            domainRestrictions: node.strings("domain_restrictions").map { $0.lowercased() })
        if provider.isDisabled { return provider }
        switch type {
        case "local-userpass": checkEmailPassword(provider, node)
        case "custom-token": checkCustomToken(provider, node)
        case "custom-function": checkCustomFunction(provider, node.child("config") ?? node)
        case let type where OAuthSettings.types.contains(type): checkOAuth(provider, node)
        default: break
        }
        return provider
    }

    private func checkEmailPassword(_ provider: AuthProvider, _ node: ConfigNode) {
        let config = node.child("config") ?? node
        config.check(
            flags: ["autoConfirm", "runConfirmationFunction", "runResetFunction"],
            strings: [
                "confirmationFunctionName", "resetFunctionName", "emailConfirmationUrl", "resetPasswordUrl",
                "confirmEmailSubject", "resetPasswordSubject",
            ])
        let settings = EmailPasswordSettings(provider)
        for (mode, key) in [
            (settings.confirmation, "confirmationFunctionName"), (settings.reset, "resetFunctionName"),
        ] {
            if case .function("") = mode { config.problem(.fieldMissing, "\(key) is missing: add it") }
        }
        if settings.confirmation == .mail, settings.confirmationURL.isEmpty {
            config.problem(
                .fieldMissing, severity: .warning,
                "emailConfirmationUrl is missing: mails have no page to link to; add it")
        }
        if settings.reset == .mail, settings.resetURL.isEmpty {
            config.problem(
                .fieldMissing, severity: .warning, "resetPasswordUrl is missing: mails have no page to link to; add it")
        }
    }

    private func checkCustomFunction(_ provider: AuthProvider, _ config: ConfigNode) {
        config.check(flags: [], strings: ["authFunctionName"])
        if (provider.functionName ?? "").isEmpty {
            config.problem(
                .fieldMissing, severity: .warning,
                "authFunctionName is missing: nobody can sign in by \(provider.name) until it names a function")
        }
    }

    private func checkCustomToken(_ provider: AuthProvider, _ node: ConfigNode) {
        let config = node.child("config") ?? node
        config.check(flags: ["useJWKURI", "requireAnyAudience"], strings: ["jwkURI", "signingAlgorithm"])
        _ = config.child("audience")  // a text or a list
        switch CustomTokenSettings(provider).keys {
        case .published(let text):
            checkURL(text, "jwkURI", config)
        case .secrets(let names, let algorithm):
            if !CustomTokenSettings.algorithms.contains(algorithm) {
                (config.child("signingAlgorithm") ?? config).problem(
                    .fieldValue,
                    "signingAlgorithm must be one of \(CustomTokenSettings.algorithms.joined(separator: ", "))")
            }
            if !(1...3).contains(names.count) {
                (node.child("secret_config") ?? node).problem(
                    .fieldMissing, "signingKeys must name one to three secrets")
            }
        }
    }

    /// Checks the URL of something that an issuer publishes.
    func checkURL(_ text: String, _ key: String, _ config: ConfigNode) {
        let url = URL(string: text)
        if !["http", "https"].contains(url?.scheme ?? "") || (url?.host ?? "").isEmpty {
            (config.child(key) ?? config).problem(.fieldValue, "\(key) must be an http or https URL")
        } else if url?.scheme == "http" {
            (config.child(key) ?? config).problem(
                .fieldValue, severity: .warning,
                "\(key) is http: auth refuses these tokens unless auth.allowPlainKeySets is true")
        }
    }
}
