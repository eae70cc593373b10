import Cssl
import Glibc

/// The TLS of one client's connection, between a socket and who reads and writes it. Loop only.
///
/// OpenSSL works on memory, and the descriptor is read and written here: so nothing raises SIGPIPE, and what is called looks like
/// `recv` and `sendmsg`, `errno` included.
package final class TLSChannel {
    /// How much is encrypted before the kernel has taken it, and how much is read at once. Of so much ciphertext, and a record that
    /// began before, the plain text fits in any buffer that `receive` is given.
    package static let lot = 16 << 10

    private let ssl: OpaquePointer
    /// Both belong to `ssl`.
    private let input: OpaquePointer
    private let output: OpaquePointer
    /// Encrypted, and not with the kernel.
    private var unsent: [UInt8] = []

    /// - Parameters:
    ///   - host: whom the certificate must name.
    ///   - protocols: what may be spoken inside, for a server that speaks several (RFC 7301).
    package init(_ context: TLSContext, host: String, protocols: [String] = []) throws(TLSError) {
        ssl = try context.connection(to: host, protocols: protocols)
        guard let input = BIO_new(BIO_s_mem()) else {
            SSL_free(ssl)
            throw TLSError(.outOfResources, TLSContext.lastError)
        }
        guard let output = BIO_new(BIO_s_mem()) else {
            BIO_free(input)
            SSL_free(ssl)
            throw TLSError(.outOfResources, TLSContext.lastError)
        }
        (self.input, self.output) = (input, output)
        SSL_set_bio(ssl, input, output)
    }

    deinit { SSL_free(ssl) }

    /// Whether something waits until the descriptor can be written.
    package var hasUnsent: Bool { !unsent.isEmpty }

    /// Goes on with the handshake.
    ///
    /// - Returns: whether it is done; if not, it goes on when the descriptor is ready.
    /// - Throws: `untrusted` for a certificate that isn't good for the host, `cannotConnect`.
    package func handshake(over descriptor: Int32) throws(TLSError) -> Bool {
        while true {
            ERR_clear_error()
            let status = SSL_do_handshake(ssl)
            let isWaiting = status != 1 && SSL_get_error(ssl, status) == SSL_ERROR_WANT_READ
            let failure = status == 1 || isWaiting ? nil : self.failure
            // Also the alert that tells the server what was wrong.
            if !flush(to: descriptor), errno != EAGAIN, failure == nil { throw Self.lost(errno) }
            if let failure { throw failure }
            if status == 1 { return true }
            let count = fetch(from: descriptor)
            if count == 0 { throw TLSError(.cannotConnect, "the connection was lost while TLS began") }
            if count < 0 {
                guard errno == EAGAIN else { throw Self.lost(errno) }
                return false
            }
        }
    }

    private var failure: TLSError {
        let verdict = SSL_get_verify_result(ssl)
        guard verdict == X509_V_OK else {
            let reason = X509_verify_cert_error_string(verdict).map { String(cString: $0) } ?? "\(verdict)"
            return TLSError(.untrusted, "the server's certificate isn't good: \(reason)")
        }
        return TLSError(.cannotConnect, "TLS: \(TLSContext.lastError)")
    }

    private static func lost(_ code: Int32) -> TLSError {
        TLSError(.cannotConnect, String(cString: strerror(code)))
    }

    /// As `recv`. Afterwards nothing that has come is left here, so the descriptor's readiness tells when there is more.
    ///
    /// - Parameter buffer: of three times `lot` or more.
    package func receive(from descriptor: Int32, into buffer: UnsafeMutableRawBufferPointer) -> Int {
        var total = 0
        while true {
            ERR_clear_error()
            let count = SSL_read(ssl, buffer.baseAddress.map { $0 + total }, Int32(buffer.count - total))
            if count > 0 {
                total += Int(count)
                continue
            }
            switch SSL_get_error(ssl, count) {
            case SSL_ERROR_WANT_READ:
                if total > 0 { return total }
                let fetched = fetch(from: descriptor)
                if fetched <= 0 { return fetched }
            case SSL_ERROR_ZERO_RETURN: return total
            default:
                errno = EPROTO
                return total > 0 ? total : -1
            }
        }
    }

    /// Takes ciphertext from the kernel.
    private func fetch(from descriptor: Int32) -> Int {
        withUnsafeTemporaryAllocation(byteCount: Self.lot, alignment: 16) { buffer in
            var count = 0
            repeat { count = recv(descriptor, buffer.baseAddress, buffer.count, 0) } while count < 0 && errno == EINTR
            if count > 0 { BIO_write(input, buffer.baseAddress, Int32(count)) }
            return count
        }
    }

    /// As `sendmsg`: how many bytes were taken. What is taken is with the kernel when `flush` says so.
    package func send(_ pieces: UnsafeMutableBufferPointer<iovec>, to descriptor: Int32) -> Int {
        guard flush(to: descriptor) else { return -1 }
        var taken = 0
        for piece in pieces where taken < Self.lot {
            let wanted = min(piece.iov_len, Self.lot - taken)
            ERR_clear_error()
            let count = SSL_write(ssl, piece.iov_base, Int32(wanted))
            guard count > 0 else {
                errno = EPROTO
                return taken > 0 ? taken : -1
            }
            taken += Int(count)
            if Int(count) < piece.iov_len { break }
        }
        _ = flush(to: descriptor)  // what it couldn't do, the next call finds
        return taken
    }

    /// Hands to the kernel what is encrypted; `errno` says why not.
    package func flush(to descriptor: Int32) -> Bool {
        collect()
        while !unsent.isEmpty {
            let count = Glibc.send(descriptor, unsent, unsent.count, Int32(MSG_NOSIGNAL))
            if count >= 0 {
                unsent.removeFirst(count)
            } else if errno != EINTR {
                return false
            }
        }
        return true
    }

    private func collect() {
        let pending = cssl_pending(output)
        guard pending > 0 else { return }
        let start = unsent.count
        unsent.append(contentsOf: repeatElement(0, count: pending))
        unsent.withUnsafeMutableBytes { bytes in
            _ = BIO_read(output, bytes.baseAddress.map { $0 + start }, Int32(pending))
        }
    }
}
