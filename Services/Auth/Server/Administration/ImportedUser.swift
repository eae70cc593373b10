public import DocumentModel

/// A user of another system, as the Admin API of App Services lists users: `{_id, type, identities, data, disabled, creation_date,
/// last_authentication_date}`, times in seconds since 1970. Of the kinds that have no identity that can come along, only the reason is known.
public struct ImportedUser: Sendable {
    /// Why a user can't come along.
    public struct Problem: Error, Sendable, CustomStringConvertible {
        public let description: String
    }

    /// Its id, 24 hexadecimal digits.
    public let id: String
    let data: Document
    let isDisabled: Bool
    /// Milliseconds since 1970.
    let createdAt: Int64
    let lastSignIn: Int64?
    let identities: [Identity]
    /// The types of the providers of its identities.
    public var providers: [String] { identities.map(\.provider) }

    struct Identity: Sendable {
        var id: String
        var provider: String
        var subject: String
        var passwordHash: String?
    }

    /// Identities that can't sign in without a secret that no list contains.
    private static let left: Set<String> = ["api-key"]

    /// Reads a user.
    ///
    /// - Parameters:
    ///   - document: Partita's own field is `password_hash` of an identity `local-userpass`; see ``PasswordHash``'s formats in the README.
    ///   - now: the time that counts as that of the creation where it is missing, in milliseconds since 1970.
    public init(_ document: Document, now: Int64) throws(Problem) {
        guard let id = document["_id"]?.objectIdValue?.hexString ?? document["_id"]?.stringValue,
            ObjectId(hexString: id)?.hexString.hasSameBytes(as: id) == true
        else { throw Problem(description: "_id isn't 24 hexadecimal digits in lower case") }
        if let type = document["type"]?.stringValue, type != "normal" {
            throw Problem(
                description: "a user of type \(type) can't come along: make a server API key (`partita api-key create`)"
            )
        }
        let data = document["data"]?.documentValue ?? Document()
        var identities: [Identity] = []
        for entry in document["identities"]?.arrayValue ?? [] {
            guard let provider = entry["provider_type"]?.stringValue, !Self.left.contains(provider) else { continue }
            identities.append(try Self.identity(entry, provider: provider, data: data))
        }
        guard !identities.isEmpty else {
            throw Problem(description: "it has no identity to sign in with (API keys of users are in no list)")
        }
        guard identities.count <= 20 else { throw Problem(description: "it has more than 20 identities") }
        guard ExtendedJSON.print(.document(data)).utf8.count <= 64 << 10 else {
            throw Problem(description: "data has more than 64 KiB")
        }
        self.id = id
        self.data = data
        self.identities = identities
        isDisabled = document["disabled"] == true
        createdAt = try Self.milliseconds(document, "creation_date") ?? now
        lastSignIn = try Self.milliseconds(document, "last_authentication_date")
    }

    private static func identity(_ entry: Value, provider: String, data: Document) throws(Problem) -> Identity {
        guard provider.utf8.count <= 64, !provider.isEmpty, !provider.utf8.contains(0) else {
            throw Problem(description: "provider_type is empty or too long")
        }
        guard let id = entry["id"]?.stringValue, !id.isEmpty else {
            throw Problem(description: "an identity of \(provider) has no id")
        }
        guard id.utf8.count <= 1024, !id.utf8.contains(0) else {
            throw Problem(description: "the id of an identity of \(provider) has more than 1,024 bytes, or U+0000")
        }
        guard provider == Registration.provider else {
            return Identity(id: id, provider: provider, subject: id)
        }
        guard let email = entry["provider_data"]?["email"]?.stringValue ?? data["email"]?.stringValue else {
            throw Problem(description: "an identity of local-userpass has no provider_data.email")
        }
        if let problem = EmailAddress.problem(with: email) { throw Problem(description: problem) }
        let hash = entry["password_hash"]
        if let hash, hash.stringValue.flatMap({ PasswordHash($0) }) == nil {
            throw Problem(
                description: "password_hash isn't bcrypt, argon2, scrypt or PBKDF2 with costs that are accepted")
        }
        return Identity(id: id, provider: provider, subject: email, passwordHash: hash?.stringValue)
    }

    private static func milliseconds(_ document: Document, _ name: String) throws(Problem) -> Int64? {
        guard let value = document[name], value != .null else { return nil }
        guard let seconds = value.int64Value, (0...253_402_300_799).contains(seconds) else {
            throw Problem(description: "\(name) isn't seconds since 1970")
        }
        return seconds * 1000
    }
}
