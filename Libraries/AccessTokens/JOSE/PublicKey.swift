private import Ccrypto

/// A public key of OpenSSL, which knows the algorithms that cjose doesn't.
///
/// `@unchecked Sendable`: OpenSSL only reads a key after it is made, and counts references atomically.
final class PublicKey: @unchecked Sendable {
    /// The algorithms that fit the key.
    let algorithms: Set<SignatureAlgorithm>
    private let key: OpaquePointer

    /// Takes over the key, checks it, and finds what fits it.
    private init(_ key: OpaquePointer) throws(AccessTokenError) {
        self.key = key
        if EVP_PKEY_is_a(key, "RSA") == 1 {
            algorithms = SignatureAlgorithm.rsa
            try Self.checkRSA(key)
        } else if EVP_PKEY_is_a(key, "EC") == 1, let curve = Self.curve(of: key) {
            algorithms = [curve.algorithm]
        } else if EVP_PKEY_is_a(key, "ED25519") == 1 || EVP_PKEY_is_a(key, "ED448") == 1 {
            algorithms = [.edDSA]
        } else {
            algorithms = []
            throw AccessTokenError(.keyInvalid, "neither an RSA key, nor one of P-256, P-384, P-521, Ed25519 or Ed448")
        }
    }

    deinit { EVP_PKEY_free(key) }

    /// An RSA key by its big-endian numbers.
    ///
    /// - Throws: `keyInvalid` for less than 2048 or more than 8192 bits, and for an unusual exponent.
    convenience init(modulus: [UInt8], exponent: [UInt8]) throws(AccessTokenError) {
        guard modulus.count <= 1100, exponent.count <= 16 else { throw AccessTokenError(.keyInvalid, "too long") }
        var numbers: [OpaquePointer] = []
        defer { for number in numbers { BN_free(number) } }
        let key = try Self.make("RSA") { builder in
            for (name, bytes) in [("n" as StaticString, modulus), ("e", exponent)] {
                guard let number = BN_bin2bn(bytes, Int32(bytes.count), nil) else { return false }
                numbers.append(number)
                guard OSSL_PARAM_BLD_push_BN(builder, name.cString, number) == 1 else { return false }
            }
            return true
        }
        try self.init(key)
    }

    /// A key on a curve by its coordinates.
    ///
    /// - Throws: `keyInvalid` when a coordinate hasn't the curve's length, or the point isn't on the curve.
    convenience init(curve: EllipticCurve, x: [UInt8], y: [UInt8]) throws(AccessTokenError) {
        guard x.count == curve.coordinateBytes, y.count == curve.coordinateBytes else {
            throw AccessTokenError(.keyInvalid, "x or y has a wrong length")
        }
        // An uncompressed point (SEC 1 §2.3.3). It must live until the parameters are made.
        let point = UnsafeMutableBufferPointer<UInt8>.allocate(capacity: 1 + x.count + y.count)
        defer { point.deallocate() }
        _ = point.initialize(fromContentsOf: [4] + x + y)
        let key = try Self.make("EC") { builder in
            OSSL_PARAM_BLD_push_utf8_string(builder, ("group" as StaticString).cString, curve.name.cString, 0) == 1
                && OSSL_PARAM_BLD_push_octet_string(
                    builder, ("pub" as StaticString).cString, point.baseAddress, point.count)
                    == 1
        }
        try self.init(key)
    }

    /// A key for EdDSA (RFC 8037 §2).
    ///
    /// - Parameter curve: `Ed25519` or `Ed448`.
    convenience init(edwards curve: String, x: [UInt8]) throws(AccessTokenError) {
        guard ["Ed25519": 32, "Ed448": 57][curve] == x.count,
            let key = EVP_PKEY_new_raw_public_key_ex(nil, curve.uppercased(), nil, x, x.count)
        else { throw AccessTokenError(.keyInvalid, "not a key of Ed25519 or Ed448") }
        try self.init(key)
    }

    /// A public key in PEM: `BEGIN PUBLIC KEY` (RFC 5280) or `BEGIN RSA PUBLIC KEY` (RFC 8017).
    convenience init(pem text: String) throws(AccessTokenError) {
        let refusal = AccessTokenError(.keyInvalid, "not a public key in PEM")
        guard text.utf8.count <= 16_384, !text.contains("PRIVATE KEY") else { throw refusal }
        var key: OpaquePointer?
        guard
            let decoder = OSSL_DECODER_CTX_new_for_pkey(&key, "PEM", nil, nil, partita_evp_public_key(), nil, nil)
        else { throw AccessTokenError(.cryptographyFailed, "out of memory") }
        defer { OSSL_DECODER_CTX_free(decoder) }
        let bytes = Array(text.utf8)
        let isRead = bytes.withUnsafeBufferPointer { bytes in
            var start = bytes.baseAddress
            var count = bytes.count
            return OSSL_DECODER_from_data(decoder, &start, &count) == 1
        }
        ERR_clear_error()
        guard isRead, let key else { throw refusal }
        try self.init(key)
    }

    /// Whether a signature in the form of JWS is this key's.
    ///
    /// - Parameter algorithm: one that fits the key.
    func verifies(_ signature: [UInt8], of text: [UInt8], by algorithm: SignatureAlgorithm) -> Bool {
        defer { ERR_clear_error() }
        guard algorithms.contains(algorithm), let signature = Self.native(signature, algorithm),
            let context = EVP_MD_CTX_new()
        else { return false }
        defer { EVP_MD_CTX_free(context) }
        var settings: OpaquePointer?
        guard EVP_DigestVerifyInit_ex(context, &settings, algorithm.digest, nil, nil, key, nil) == 1 else {
            return false
        }
        if algorithm.isPSS {
            guard EVP_PKEY_CTX_set_rsa_padding(settings, RSA_PKCS1_PSS_PADDING) == 1,
                EVP_PKEY_CTX_set_rsa_pss_saltlen(settings, RSA_PSS_SALTLEN_DIGEST) == 1
            else { return false }
        }
        return EVP_DigestVerify(context, signature, signature.count, text, text.count) == 1
    }

    /// JWS has an ECDSA signature as two numbers of fixed length (RFC 7518 §3.4), OpenSSL as DER.
    private static func native(_ signature: [UInt8], _ algorithm: SignatureAlgorithm) -> [UInt8]? {
        guard let length = algorithm.ecdsaNumberBytes else { return signature }
        guard signature.count == 2 * length, let pair = ECDSA_SIG_new() else { return nil }
        defer { ECDSA_SIG_free(pair) }
        let r = signature.withUnsafeBufferPointer { BN_bin2bn($0.baseAddress, Int32(length), nil) }
        let s = signature[length...].withUnsafeBufferPointer { BN_bin2bn($0.baseAddress, Int32(length), nil) }
        guard let r, let s, ECDSA_SIG_set0(pair, r, s) == 1 else {
            BN_free(r)
            BN_free(s)
            return nil
        }
        var bytes: UnsafeMutablePointer<UInt8>?
        let count = i2d_ECDSA_SIG(pair, &bytes)
        guard count > 0, let bytes else { return nil }
        defer { CRYPTO_free(bytes, nil, 0) }
        return Array(UnsafeBufferPointer(start: bytes, count: Int(count)))
    }

    /// - Parameter push: adds the parameters. OpenSSL keeps the pointers to their names, which must stay valid.
    private static func make(
        _ type: String, _ push: (OpaquePointer) -> Bool
    ) throws(AccessTokenError) -> OpaquePointer {
        defer { ERR_clear_error() }
        guard let builder = OSSL_PARAM_BLD_new() else { throw AccessTokenError(.cryptographyFailed, "out of memory") }
        defer { OSSL_PARAM_BLD_free(builder) }
        guard push(builder), let parameters = OSSL_PARAM_BLD_to_param(builder) else {
            throw AccessTokenError(.cryptographyFailed, "the key can't be described")
        }
        defer { OSSL_PARAM_free(parameters) }
        guard let context = EVP_PKEY_CTX_new_from_name(nil, type, nil) else {
            throw AccessTokenError(.cryptographyFailed, "OpenSSL has no \(type)")
        }
        defer { EVP_PKEY_CTX_free(context) }
        var key: OpaquePointer?
        guard EVP_PKEY_fromdata_init(context) == 1,
            EVP_PKEY_fromdata(context, &key, partita_evp_public_key(), parameters) == 1, let key
        else { throw AccessTokenError(.keyInvalid, "the key can't be read") }
        return key
    }

    private static func checkRSA(_ key: OpaquePointer) throws(AccessTokenError) {
        guard (2048...8192).contains(EVP_PKEY_get_bits(key)) else {
            throw AccessTokenError(.keyInvalid, "an RSA modulus must have 2048 to 8192 bits")
        }
        for (name, longest) in [(OSSL_PKEY_PARAM_RSA_N, Int32(8192)), (OSSL_PKEY_PARAM_RSA_E, 32)] {
            var number: OpaquePointer?
            defer { BN_free(number) }
            guard EVP_PKEY_get_bn_param(key, name, &number) == 1, let number, BN_is_odd(number) == 1,
                BN_is_one(number) == 0, BN_num_bits(number) <= longest
            else { throw AccessTokenError(.keyInvalid, "an unusual RSA key") }
        }
    }

    private static func curve(of key: OpaquePointer) -> EllipticCurve? {
        var name = [CChar](repeating: 0, count: 64)
        guard EVP_PKEY_get_group_name(key, &name, name.count, nil) == 1 else { return nil }
        let text = String(decoding: name.prefix { $0 != 0 }.map(UInt8.init(bitPattern:)), as: UTF8.self)
        return EllipticCurve.allCases.first { "\($0.name)" == text }
    }
}

extension StaticString {
    /// For ever valid, as a pointer to a temporary string isn't.
    fileprivate var cString: UnsafePointer<CChar> {
        UnsafeRawPointer(utf8Start).assumingMemoryBound(to: CChar.self)
    }
}

extension PublicKey: Equatable {
    static func == (left: PublicKey, right: PublicKey) -> Bool { EVP_PKEY_eq(left.key, right.key) == 1 }
}
