import Cssl
import Glibc

/// The TLS layer of one client connection, between a socket and its reader and writer. Loop only.
///
/// OpenSSL works on memory buffers, and this class reads and writes the descriptor. So no SIGPIPE is raised, and its methods behave
/// like `recv` and `sendmsg`, including `errno`.
package final class TLSChannel {
    /// The maximum number of bytes that are encrypted before the kernel has accepted them, and that are read at once. The plain
    /// text of this much ciphertext, and of a record that began before, fits in any buffer that `receive` gets.
    package static let lot = 16 << 10

    private let ssl: OpaquePointer
    /// `ssl` owns both.
    private let input: OpaquePointer
    private let output: OpaquePointer
    /// Encrypted bytes that the kernel hasn't accepted.
    private var unsent: [UInt8] = []

    /// - Parameters:
    ///   - host: the host that the certificate must name.
    ///   - protocols: the protocols to offer to a server that supports several (ALPN, RFC 7301).
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

    /// Whether encrypted bytes wait until the descriptor is writable.
    package var hasUnsent: Bool { !unsent.isEmpty }

    /// Continues the handshake.
    ///
    /// - Returns: whether it is complete; if not, call it again when the descriptor is ready.
    /// - Throws: `untrusted` for a certificate that isn't valid for the host; `cannotConnect`.
    package func handshake(over descriptor: Int32) throws(TLSError) -> Bool {
        while true {
            ERR_clear_error()
            let status = SSL_do_handshake(ssl)
            let isWaiting = status != 1 && SSL_get_error(ssl, status) == SSL_ERROR_WANT_READ
            let failure = status == 1 || isWaiting ? nil : self.failure
            // This also sends the alert that informs the server of a failure.
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
            return TLSError(.untrusted, "the server's certificate isn't valid: \(reason)")
        }
        return TLSError(.cannotConnect, "TLS: \(TLSContext.lastError)")
    }

    private static func lost(_ code: Int32) -> TLSError {
        TLSError(.cannotConnect, String(cString: strerror(code)))
    }

    /// Behaves like `recv`. Afterwards no received data is left here, so the descriptor's readiness signals further data.
    ///
    /// - Parameter buffer: must have at least three times `lot` bytes.
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

    /// Reads ciphertext from the kernel.
    private func fetch(from descriptor: Int32) -> Int {
        withUnsafeTemporaryAllocation(byteCount: Self.lot, alignment: 16) { buffer in
            var count = 0
            repeat { count = recv(descriptor, buffer.baseAddress, buffer.count, 0) } while count < 0 && errno == EINTR
            if count > 0 { BIO_write(input, buffer.baseAddress, Int32(count)) }
            return count
        }
    }

    /// Behaves like `sendmsg`, and returns the number of accepted bytes. The kernel has accepted them when `flush` returns `true`.
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
        _ = flush(to: descriptor)  // the next call reports a failure
        return taken
    }

    /// Writes the encrypted bytes to the kernel; `errno` has the reason when it returns `false`.
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
