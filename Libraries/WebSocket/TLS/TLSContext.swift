import Cssl
import EventLoop

/// What the TLS of clients has in common: whom they trust.
///
/// `@unchecked Sendable`: OpenSSL counts an `SSL_CTX`'s references atomically and lets any threads make connections of it at once, as long
/// as nobody changes it (openssl-threads(7)); nobody does after `init`.
final class TLSContext: @unchecked Sendable {
    /// One for each file of authorities: reading the system's takes milliseconds.
    private static let made = Locked<[String?: TLSContext]>([:])

    private let pointer: OpaquePointer

    /// The context that trusts the authorities in a file, or the system's.
    static func trusting(_ certificateAuthorityFile: String?) async throws -> TLSContext {
        if let context = made.withLock({ $0[certificateAuthorityFile] }) { return context }
        let context = try await withCheckedThrowingContinuation { continuation in
            BlockingWork.run { continuation.resume(with: Result { try TLSContext(certificateAuthorityFile) }) }
        }
        made.withLock { $0[certificateAuthorityFile] = context }
        return context
    }

    private init(_ certificateAuthorityFile: String?) throws(WebSocketError) {
        guard let pointer = SSL_CTX_new(TLS_client_method()) else {
            throw WebSocketError(.outOfResources, TLSContext.lastError)
        }
        self.pointer = pointer
        cssl_set_modes(pointer)
        SSL_CTX_set_verify(pointer, SSL_VERIFY_PEER, nil)
        guard cssl_set_minimum_tls12(pointer) == 1 else {
            throw WebSocketError(.outOfResources, TLSContext.lastError)
        }
        let isRead =
            if let file = certificateAuthorityFile {
                SSL_CTX_load_verify_locations(pointer, file, nil)
            } else {
                SSL_CTX_set_default_verify_paths(pointer)
            }
        guard isRead == 1 else {
            throw WebSocketError(
                .untrusted, "\(certificateAuthorityFile ?? "the system's authorities") can't be read: \(Self.lastError)"
            )
        }
    }

    deinit { SSL_CTX_free(pointer) }

    /// A connection's state, which checks that the server's certificate is for this host.
    func connection(to host: String) throws(WebSocketError) -> OpaquePointer {
        guard let ssl = SSL_new(pointer) else { throw WebSocketError(.outOfResources, Self.lastError) }
        let isAddress = X509_VERIFY_PARAM_set1_ip_asc(SSL_get0_param(ssl), host) == 1
        // A proxy that speaks HTTP/2 as well would choose it.
        let protocols = [8] + Array("http/1.1".utf8)
        guard isAddress || SSL_set1_host(ssl, host) == 1 && cssl_set_server_name(ssl, host) == 1,
            SSL_set_alpn_protos(ssl, protocols, UInt32(protocols.count)) == 0
        else {
            SSL_free(ssl)
            throw WebSocketError(.invalidURL, "\(host) can't be the host of a certificate")
        }
        SSL_set_connect_state(ssl)
        return ssl
    }

    /// What OpenSSL's last call on this thread complained about.
    static var lastError: String {
        let code = ERR_get_error()
        ERR_clear_error()
        guard let reason = ERR_reason_error_string(code) else { return "TLS failed" }
        return String(cString: reason)
    }
}
