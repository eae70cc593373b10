import Cssl
import EventLoop

/// The common TLS settings of clients with the same trusted authorities.
///
/// `@unchecked Sendable`: OpenSSL counts an `SSL_CTX`'s references atomically and lets several threads create connections from it
/// concurrently as long as it isn't changed (openssl-threads(7)), and it isn't changed after `init`.
package final class TLSContext: @unchecked Sendable {
    /// One context per trust, because reading the system's authorities takes milliseconds.
    private static let made = Locked<[TLSTrust: TLSContext]>([:])

    private let pointer: OpaquePointer

    /// The context for a trust, whose files are read only once.
    package static func of(_ trust: TLSTrust) async throws -> TLSContext {
        if let context = made.withLock({ $0[trust] }) { return context }
        let context = try await withCheckedThrowingContinuation { continuation in
            BlockingWork.run { continuation.resume(with: Result { try TLSContext(trust) }) }
        }
        made.withLock { $0[trust] = context }
        return context
    }

    private init(_ trust: TLSTrust) throws(TLSError) {
        guard let pointer = SSL_CTX_new(TLS_client_method()) else {
            throw TLSError(.outOfResources, TLSContext.lastError)
        }
        self.pointer = pointer
        cssl_set_modes(pointer)
        SSL_CTX_set_verify(pointer, SSL_VERIFY_PEER, nil)
        guard cssl_set_minimum_tls12(pointer) == 1 else {
            throw TLSError(.outOfResources, TLSContext.lastError)
        }
        let isRead =
            if let file = trust.authorities?.wrappedValue {
                SSL_CTX_load_verify_locations(pointer, file, nil)
            } else {
                SSL_CTX_set_default_verify_paths(pointer)
            }
        guard isRead == 1 else { throw Self.unreadable(trust.authorities?.wrappedValue ?? "the system's authorities") }
        if let file = trust.certificate?.wrappedValue, SSL_CTX_use_certificate_chain_file(pointer, file) != 1 {
            throw Self.unreadable(file)
        }
        if let file = trust.key?.wrappedValue, SSL_CTX_use_PrivateKey_file(pointer, file, SSL_FILETYPE_PEM) != 1 {
            throw Self.unreadable(file)
        }
    }

    private static func unreadable(_ file: String) -> TLSError {
        TLSError(.untrusted, "\(file) can't be read: \(lastError)")
    }

    deinit { SSL_CTX_free(pointer) }

    /// Creates the state of a connection, which checks that the server's certificate is for this host.
    func connection(to host: String, protocols: [String]) throws(TLSError) -> OpaquePointer {
        guard let ssl = SSL_new(pointer) else { throw TLSError(.outOfResources, Self.lastError) }
        let isAddress = X509_VERIFY_PARAM_set1_ip_asc(SSL_get0_param(ssl), host) == 1
        let names = protocols.flatMap { [UInt8($0.utf8.count)] + Array($0.utf8) }
        guard isAddress || SSL_set1_host(ssl, host) == 1 && cssl_set_server_name(ssl, host) == 1,
            names.isEmpty || SSL_set_alpn_protos(ssl, names, UInt32(names.count)) == 0
        else {
            SSL_free(ssl)
            throw TLSError(.invalidHost, "\(host) can't be the host of a certificate")
        }
        SSL_set_connect_state(ssl)
        return ssl
    }

    /// The error of OpenSSL's last call on this thread.
    static var lastError: String {
        let code = ERR_get_error()
        ERR_clear_error()
        guard let reason = ERR_reason_error_string(code) else { return "TLS failed" }
        return String(cString: reason)
    }
}
