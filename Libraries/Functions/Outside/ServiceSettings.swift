import AppDefinition
import DocumentModel
import FunctionProtocol

/// The settings of a service, with the values of its secrets.
struct ServiceSettings: Sendable {
    private let service: DataSource
    private let secrets: SecretValues

    init(service: DataSource, app: AppDefinition) {
        self.service = service
        secrets = app.secrets
    }

    var name: String { service.name }

    /// A setting that isn't secret; `nil` when it is absent or empty.
    func text(_ key: String) -> String? {
        service.config[key]?.stringValue.flatMap { $0.isEmpty ? nil : $0 }
    }

    /// A setting whose secret `secret_config` names, or which `config` has in clear.
    /// - Throws: `EffectFailure` that names what is missing, and never a value.
    func credential(_ key: String) throws -> String {
        guard let secret = service.secretConfig[key]?.stringValue, !secret.isEmpty else {
            if let text = text(key) { return text }
            throw EffectFailure(
                name: "ServiceNotFound", message: "the service '\(name)' has no \(key): its configuration must have it")
        }
        guard let value = secrets[secret], !value.isEmpty else {
            throw EffectFailure(
                name: "ServiceNotFound",
                message:
                    "the secret '\(secret)', the \(key) of the service '\(name)', isn't set: `partita secret set` sets it"
            )
        }
        return value
    }

    /// Where an interface is to be reached instead of at its vendor's: scheme, host and port.
    func endpoint(of interface: String) -> String? { service.endpoints[interface] ?? service.endpoints[""] }
}
