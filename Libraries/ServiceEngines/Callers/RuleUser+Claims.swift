public import AccessTokens
public import AppDefinition
public import DocumentModel

extension RuleUser {
    /// The user of an access token.
    public init(_ claims: TokenClaims) {
        self.init(
            id: claims.user, type: claims.userType, data: claims.data, customData: claims.customData ?? [:],
            identities: claims.identities)
    }

    /// Whether all that the user has signed in with is an anonymous account.
    public var isAnonymous: Bool {
        !identities.isEmpty
            && identities.allSatisfy { $0["provider_type"]?.stringValue?.hasSameBytes(as: "anon-user") == true }
    }

    /// The user as described in a request to the permissions service.
    public var claims: Document {
        [
            "id": .string(id), "type": .string(type), "data": .document(data), "custom_data": .document(customData),
            "identities": .array(identities.map { .document($0) }),
        ]
    }
}
