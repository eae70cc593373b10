import Texts

/// Whom a client trusts, and what it shows of itself: files in PEM.
package struct TLSTrust: Hashable, Sendable {
    /// The authorities; without it, the system's.
    package let authorities: ExactText?
    /// The client's certificate, followed by those that lead to its authority.
    package let certificate: ExactText?
    /// The certificate's key.
    package let key: ExactText?

    package init(authorities: String? = nil, certificate: String? = nil, key: String? = nil) {
        self.authorities = authorities.map { ExactText(wrappedValue: $0) }
        self.certificate = certificate.map { ExactText(wrappedValue: $0) }
        self.key = key.map { ExactText(wrappedValue: $0) }
    }
}
