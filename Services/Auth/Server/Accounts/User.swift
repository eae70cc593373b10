import DocumentModel

/// An account.
struct User: Sendable {
    var app: String
    /// 24 hexadecimal digits, for good: devices keep their files under it.
    var id: String
    /// `normal` or `server`.
    var type: String
    var data: Document
    var identities: [Identity]
    /// Registered, and not confirmed yet: can't sign in.
    var isPending: Bool
    var isDisabled: Bool
    /// Milliseconds since 1970.
    var createdAt: Int64
    /// Milliseconds since 1970; `nil` for never.
    var lastSignIn: Int64?

    /// The most identities of a user, and the most bytes of a profile: access tokens carry both, and travel with each call.
    static let maximumIdentities = 20
    static let maximumDataBytes = 4096

    /// Whether a profile isn't too large.
    static func fits(_ data: Document) -> Bool {
        ExtendedJSON.print(.document(data)).utf8.count <= maximumDataBytes
    }

    /// A way to sign in.
    struct Identity: Hashable, Sendable {
        @ExactText var id: String
        @ExactText var provider: String
    }

    /// `{id, provider_type}` each, as tokens and profiles show them.
    var identityDocuments: [Document] {
        identities.map { ["id": .string($0.id), "provider_type": .string($0.provider)] }
    }

    /// As functions and triggers see it.
    var document: Document {
        [
            "id": .string(id), "type": .string(type), "data": .document(data),
            "identities": .array(identityDocuments.map(Value.document)),
        ]
    }
}
