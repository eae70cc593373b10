import AppRegistry
import DocumentModel
public import Secrets

extension Administration {
    /// The most bytes of a secret's value.
    public static let secretLimit = 48 << 10

    func performOnSecrets(_ call: AdminCall) async throws -> AdminAnswer {
        let app = try await deployments.deployed(call.app)
        let name = call.parameter("secret") ?? ""
        switch call.action {
        case .setSecret:
            try await setSecret(name, of: app.id, to: try Self.secretValue(of: call))
            return AdminAnswer()
        case .removeSecret:
            guard try await registry.secretNames(of: app.id).contains(name) else {
                throw AuthError(.secretNotFound, "\(app.id) has no secret \(name)")
            }
            try await registry.removeSecret(name, of: app.id)
            return AdminAnswer()
        default:
            let known = try await registry.secretNames(of: app.id)
            let names = known.union(app.definition.secretNames.map { ExactText($0) }).sortedTexts
            return AdminAnswer([
                "secrets": .array(names.map { ["name": .string($0), "isSet": .bool(known.contains($0))] })
            ])
        }
    }

    private static func secretValue(of call: AdminCall) throws -> String {
        try call.document().requiredString("value")
    }

    private func setSecret(_ name: String, of app: String, to value: String) async throws {
        guard (1...64).contains(name.utf8.count), name.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7F }) else {
            throw AuthError(
                .invalidParameter, "a secret's name has at most 64 characters of ASCII, and no spaces")
        }
        guard value.utf8.count <= Self.secretLimit else {
            throw AuthError(.requestEntityTooLarge, "a secret's value has at most \(Self.secretLimit) bytes")
        }
        guard !value.isEmpty, !value.utf8.contains(0) else {
            throw AuthError(.invalidParameter, "a secret's value isn't empty, and has no U+0000")
        }
        // Otherwise the services have other keys, and would refuse to start because of secrets that they can't
        // decrypt.
        let uses = try await registry.secretKeyUses().merging(try await signingKeyUses(), uniquingKeysWith: +)
        if let problem = keys.problem(with: uses) {
            throw AuthError(.serviceUnavailable, "encryption.keys (PARTITA_ENCRYPTION_KEYS): \(problem)")
        }
        try await registry.setSecret(name, of: app, to: value)
    }

    /// The keys with which auth's signing keys are encrypted.
    public func signingKeyUses() async throws -> [KeyRing.KeyUse: Int] {
        Dictionary(
            try await AccountTables(sql: client).signingKeys().map { (KeyRing.KeyUse($0.privateKey), 1) },
            uniquingKeysWith: +)
    }
}
