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

    /// - Parameters:
    ///   - given: what the identity provider's page said of the user besides the claims, which have precedence.
    ///   - requiresAll: whether a field that the app requires may be missing: it was there when the user first signed in.
    /// - Throws: `authError` when a required field is missing, `domainNotAllowed`.
    init(
        _ claims: Document, given: Document = Document(), provider: AuthProvider, requiresAll: Bool = true
    ) throws(AuthError) {
        var claims = claims
        // Whoever may write any address into their account would otherwise be taken for its owner.
        if ["false", false].contains(claims["email_verified"]) { claims["email"] = nil }
        for (name, standard) in Self.claims where claims[name] == nil {
            if let value = claims[standard] { claims[name] = value }
        }
        for field in given.fields where claims[field.key] == nil { claims[field.key] = field.value }
        if !provider.domainRestrictions.isEmpty {
            let domain = claims["email"]?.stringValue?.splitAtBytes("@").last?.lowercased()
            guard let domain, provider.domainRestrictions.containsExactly(domain) else {
                throw AuthError(.domainNotAllowed, "the app takes no users of this domain")
            }
        }
        guard let subject = claims["sub"]?.stringValue,
            let profile = provider.metadata(of: claims, requiresAll: requiresAll)
        else {
            throw AuthError(.authError, "the identity provider gives no field that the app requires")
        }
        self.subject = subject
        self.profile = profile
    }
}
