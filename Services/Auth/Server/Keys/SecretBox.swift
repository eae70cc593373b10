import Foundation

/// Keeps private keys in Postgres: encrypted where the administrator gave a secret, plain otherwise.
struct SecretBox: Sendable {
    private let key: [UInt8]?
    private static let mark = "secretbox.v1:"

    /// - Parameter secret: `nil` or empty stores plainly: then whoever reads the database can sign tokens.
    init(secret: String?) {
        key = (secret ?? "").isEmpty ? nil : Sodium.digest("partita.auth.signing-keys/" + (secret ?? ""))
    }

    func seal(_ text: String) -> String {
        guard let key else { return text }
        return Self.mark + Data(Sodium.seal(Array(text.utf8), key: key)).base64EncodedString()
    }

    /// - Throws: `StoredKeyError` when it was sealed with another secret, or with one at all.
    func open(_ text: String) throws -> String {
        guard text.hasPrefix(Self.mark) else { return text }
        guard let key else { throw StoredKeyError(message: "the stored key is encrypted, and no secret is configured") }
        guard let sealed = Data(base64Encoded: String(text.dropFirst(Self.mark.count))),
            let bytes = Sodium.open(Array(sealed), key: key)
        else { throw StoredKeyError(message: "the stored key was encrypted with another secret") }
        return String(decoding: bytes, as: UTF8.self)
    }
}

/// A stored key that can't be opened.
struct StoredKeyError: Error, CustomStringConvertible {
    var message: String
    var description: String { message }
}
