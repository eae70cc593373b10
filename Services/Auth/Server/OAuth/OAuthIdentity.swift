import AppDefinition
import DocumentModel

/// A user as an identity provider describes them.
struct OAuthIdentity: Sendable {
    /// The provider's id of the user.
    var subject: String
    /// What goes into the user's profile.
    var profile: Document

    /// The names of claims (OpenID Connect Core §5.1) by those that App Services' exports use.
    private static let claims = [
        "first_name": "given_name", "last_name": "family_name", "birthday": "birthdate", "picture_url": "picture",
    ]

    /// - Throws: `authError` when a required field is missing, `domainNotAllowed`.
    init(_ claims: Document, provider: AuthProvider) throws(AuthError) {
        var claims = claims
        // Whoever may write any address into their account would otherwise be taken for its owner.
        if ["false", false].contains(claims["email_verified"]) { claims["email"] = nil }
        for (name, standard) in Self.claims where claims[name] == nil {
            if let value = claims[standard] { claims[name] = value }
        }
        if !provider.domainRestrictions.isEmpty {
            let domain = claims["email"]?.stringValue?.splitAtBytes("@").last?.lowercased()
            guard let domain, provider.domainRestrictions.containsExactly(domain) else {
                throw AuthError(.domainNotAllowed, "the app takes no users of this domain")
            }
        }
        guard let subject = claims["sub"]?.stringValue, let profile = provider.metadata(of: claims) else {
            throw AuthError(.authError, "the identity provider gives no field that the app requires")
        }
        self.subject = subject
        self.profile = profile
    }
}
