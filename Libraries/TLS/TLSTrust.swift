import Texts

/// The authorities that a client trusts, and its own certificate, as PEM files.
package struct TLSTrust: Hashable, Sendable {
    /// The file of trusted authorities; `nil` for the system's.
    package let authorities: ExactText?
    /// The file of the client's certificate, followed by its chain.
    package let certificate: ExactText?
    /// The file of the certificate's key.
    package let key: ExactText?

    package init(authorities: String? = nil, certificate: String? = nil, key: String? = nil) {
        self.authorities = authorities.map { ExactText(wrappedValue: $0) }
        self.certificate = certificate.map { ExactText(wrappedValue: $0) }
        self.key = key.map { ExactText(wrappedValue: $0) }
    }
}
