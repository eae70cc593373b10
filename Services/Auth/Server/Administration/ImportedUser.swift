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
    let lastSignIn: Int64
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

    /// What a user of a list has as `_id`.
    public static func id(of document: Document) -> String? {
        document["_id"]?.objectIdValue?.hexString ?? document["_id"]?.stringValue
    }

    /// Reads a user.
    ///
    /// - Parameters:
    ///   - document: Partita's own field is `password_hash` of an identity `local-userpass`; see ``PasswordHash``'s formats in the README.
    ///   - now: the time that counts as that of the creation where it is missing, in milliseconds since 1970.
    public init(_ document: Document, now: Int64) throws(Problem) {
        guard let id = Self.id(of: document),
            ObjectId(hexString: id)?.hexString.hasSameBytes(as: id) == true
        else { throw Problem(description: "_id isn't 24 hexadecimal digits in lower case") }
        if let type = document["type"]?.stringValue, type != "normal" {
            throw Problem(
                description: "a user of type \(type) can't come along: make a server API key (`partita api-key create`)"
            )
        }
        guard let data = Self.document(document["data"]) else { throw Problem(description: "data isn't an object") }
        var identities: [Identity] = []
        for entry in document["identities"]?.arrayValue ?? [] {
            guard let provider = entry["provider_type"]?.stringValue, !Self.left.contains(provider) else { continue }
            let identity = try Self.identity(entry, provider: provider, data: data)
            // Lists may name an identity twice.
            if !identities.contains(where: { IdentityName($0) == IdentityName(identity) }) {
                identities.append(identity)
            }
        }
        guard !identities.isEmpty else {
            throw Problem(description: "it has no identity to sign in with (API keys of users are in no list)")
        }
        guard identities.count <= User.maximumIdentities else {
            throw Problem(description: "it has more than \(User.maximumIdentities) identities")
        }
        guard identities.reduce(0, { $0 + $1.id.utf8.count }) <= Self.maximumBytesOfIDs else {
            throw Problem(
                description:
                    "the ids of its identities have more than \(Self.maximumBytesOfIDs) bytes, which access tokens carry"
            )
        }
        guard User.fits(data) else {
            throw Problem(
                description:
                    "data has more than \(User.maximumDataBytes) bytes, which access tokens carry: remove fields of it")
        }
        self.id = id
        self.data = data
        self.identities = identities
        switch document["disabled"] {
        case nil, .null, .bool(false): isDisabled = false
        case .bool(true): isDisabled = true
        default: throw Problem(description: "disabled is neither true nor false")
        }
        createdAt = try Self.milliseconds(document, "creation_date") ?? now
        // Somebody who used another system isn't new: who links the identity mustn't take the place of this user.
        lastSignIn = try Self.milliseconds(document, "last_authentication_date") ?? createdAt
    }

    /// The most bytes of the ids of all identities of a user.
    private static let maximumBytesOfIDs = 2048

    /// - Returns: `nil` for anything but an object; without a value, an empty one.
    private static func document(_ value: Value?) -> Document? {
        switch value {
        case nil, .null: Document()
        default: value?.documentValue
        }
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
