import AccessTokens
import DocumentModel

extension TokenClaims {
    /// What rules and functions see of the user.
    var ruleClaims: Document {
        [
            "id": .string(user), "type": .string(userType), "data": .document(data),
            "custom_data": .document(customData ?? [:]),
            "identities": .array(identities.map { .document($0) }),
        ]
    }
}
