private import Ccjose
import Foundation

/// A key of the JOSE library. The only file that imports it.
///
/// `@unchecked Sendable`: the library counts references without atomics, so every use is under the lock.
final class JWKHandle: @unchecked Sendable {
    private let lock = NSLock()
    private let key: OpaquePointer

    private init(key: OpaquePointer?) throws(AccessTokenError) {
        guard let key else { throw AccessTokenError(.keyInvalid, "the key can't be read") }
        self.key = key
    }

    /// `NSLock.withLock` doesn't carry typed errors.
    private func locked<T>(_ body: () throws(AccessTokenError) -> T) throws(AccessTokenError) -> T {
        lock.lock()
        defer { lock.unlock() }
        return try body()
    }

    deinit { _ = cjose_jwk_release(key) }

    convenience init(generatingP256WithId id: String) throws(AccessTokenError) {
        var error = cjose_err()
        guard let key = cjose_jwk_create_EC_random(CJOSE_JWK_EC_P_256, &error) else {
            throw AccessTokenError(.cryptographyFailed, "no key could be generated")
        }
        guard cjose_jwk_set_kid(key, id, id.utf8.count, &error) else {
            _ = cjose_jwk_release(key)
            throw AccessTokenError(.cryptographyFailed, "the key's id can't be set")
        }
        try self.init(key: key)
    }

    convenience init(json text: String) throws(AccessTokenError) {
        var error = cjose_err()
        try self.init(key: cjose_jwk_import(text, text.utf8.count, &error))
    }

    func json(isPrivate: Bool) throws(AccessTokenError) -> String {
        try locked { () throws(AccessTokenError) in
            guard let text = cjose_jwk_to_json(key, isPrivate, nil) else {
                throw AccessTokenError(.cryptographyFailed, "the key can't be written")
            }
            defer { cjose_get_dealloc()?(text) }
            return String(cString: text)
        }
    }

    /// Signs bytes with ES256 and returns the compact form.
    func sign(_ payload: [UInt8], keyId: String) throws(AccessTokenError) -> String {
        guard let header = cjose_header_new(nil) else { throw AccessTokenError(.cryptographyFailed, "out of memory") }
        defer { cjose_header_release(header) }
        guard cjose_header_set(header, "alg", "ES256", nil), cjose_header_set(header, "kid", keyId, nil),
            cjose_header_set(header, "typ", "JWT", nil)
        else { throw AccessTokenError(.cryptographyFailed, "the header can't be written") }
        return try locked { () throws(AccessTokenError) in
            guard let token = cjose_jws_sign(key, header, payload, payload.count, nil) else {
                throw AccessTokenError(.cryptographyFailed, "can't be signed with this key")
            }
            defer { cjose_jws_release(token) }
            // The text belongs to the token object.
            var text: UnsafePointer<CChar>?
            guard cjose_jws_export(token, &text, nil), let text else {
                throw AccessTokenError(.cryptographyFailed, "the token can't be written")
            }
            return String(cString: text)
        }
    }

    /// Verifies a token's signature with this key, and returns its payload. The caller must have checked the header's algorithm
    /// against the key's.
    func verifiedPayload(of token: String) throws(AccessTokenError) -> [UInt8] {
        try locked { () throws(AccessTokenError) in
            guard let parsed = cjose_jws_import(token, token.utf8.count, nil) else {
                throw AccessTokenError(.malformed, "not a signed token")
            }
            defer { cjose_jws_release(parsed) }
            guard cjose_jws_verify(parsed, key, nil) else {
                throw AccessTokenError(.signatureInvalid, "the signature is wrong")
            }
            var bytes: UnsafeMutablePointer<UInt8>?
            var count = 0
            guard cjose_jws_get_plaintext(parsed, &bytes, &count, nil), let bytes else {
                throw AccessTokenError(.malformed, "no claims")
            }
            return Array(UnsafeBufferPointer(start: bytes, count: count))
        }
    }
}
