import Ccrypto
import Foundation

/// An RSA or elliptic curve key.
final class SigningKey {
    /// A signature scheme.
    enum Scheme: String {
        /// RSASSA-PKCS1-v1_5.
        case pkcs1v15
        /// RSASSA-PSS, with as much salt as fits.
        case pss
        /// RSASSA-PSS, with a salt as long as the hash, as JOSE requires.
        case josePSS = "jose-pss"
        /// ECDSA, with the two numbers concatenated, as JOSE requires.
        case ecdsa
        /// ECDSA, with the two numbers in DER.
        case ecdsaDER = "ecdsa-der"

        init(_ name: String) throws(HostCrypto.Failure) {
            guard let scheme = Scheme(rawValue: name) else {
                throw HostCrypto.Failure("the signature scheme '\(name)' is not supported")
            }
            self = scheme
        }
    }

    private let key: OpaquePointer
    private let isPrivate: Bool

    /// - Parameters:
    ///   - pem: A private key, or for a public key also the private one that it belongs to, or a certificate (X.509) of it.
    ///   - passphrase: That of an encrypted private key; empty for none.
    init(pem: [UInt8], isPrivate: Bool, passphrase: [UInt8] = []) throws(HostCrypto.Failure) {
        // The general parser doesn't support the old format of public keys (`BEGIN RSA PUBLIC KEY`).
        let isOld = !isPrivate && String(decoding: pem, as: UTF8.self).contains("BEGIN RSA PUBLIC KEY")
        let found = isOld ? Self.oldPublicKey(pem) : Self.read(pem, isPrivate: isPrivate, passphrase)
        guard let found else {
            ERR_clear_error()
            throw HostCrypto.Failure(
                "the key is no \(isPrivate ? "private" : "public") key in PEM\(isPrivate ? ", or its passphrase is another one" : "")"
            )
        }
        key = found
        self.isPrivate = isPrivate
    }

    deinit { EVP_PKEY_free(key) }

    private static func read(_ pem: [UInt8], isPrivate: Bool, _ passphrase: [UInt8]) -> OpaquePointer? {
        // Zero at the end, where libcrypto looks for it. Without a passphrase libcrypto would ask for one at the terminal.
        var passphrase = passphrase + [0]
        let readers: [(OpaquePointer, UnsafeMutableRawPointer?) -> OpaquePointer?] =
            isPrivate
            ? [{ PEM_read_bio_PrivateKey($0, nil, nil, $1) }]
            : [
                { source, _ in PEM_read_bio_PUBKEY(source, nil, nil, nil) },
                { source, _ in
                    guard let certificate = PEM_read_bio_X509(source, nil, nil, nil) else { return nil }
                    defer { X509_free(certificate) }
                    return X509_get_pubkey(certificate)
                },
                { PEM_read_bio_PrivateKey($0, nil, nil, $1) },
            ]
        for reader in readers {
            // The BIO reads from these bytes until it is freed, so they are kept alive until then.
            let found = pem.withUnsafeBytes { bytes -> OpaquePointer? in
                guard let source = BIO_new_mem_buf(bytes.baseAddress, Int32(bytes.count)) else { return nil }
                defer { BIO_free(source) }
                return passphrase.withUnsafeMutableBytes { reader(source, $0.baseAddress) }
            }
            if let found { return found }
        }
        return nil
    }

    /// The key in PEM: a private one as PKCS #8, a public one as SubjectPublicKeyInfo.
    func pem() throws(HostCrypto.Failure) -> [UInt8] {
        guard let target = BIO_new(BIO_s_mem()) else { throw HostCrypto.Failure("the key can't be written") }
        defer { BIO_free(target) }
        let isDone =
            isPrivate
            ? PEM_write_bio_PKCS8PrivateKey(target, key, nil, nil, 0, nil, nil) : PEM_write_bio_PUBKEY(target, key)
        guard isDone == 1 else { throw HostCrypto.Failure("the key can't be written") }
        var bytes = [UInt8](repeating: 0, count: Int(BIO_ctrl_pending(target)))
        let count = BIO_read(target, &bytes, Int32(bytes.count))
        return Array(bytes.prefix(Int(max(0, count))))
    }

    private static func oldPublicKey(_ pem: [UInt8]) -> OpaquePointer? {
        let lines = String(decoding: pem, as: UTF8.self).split(whereSeparator: \.isNewline)
        let text = lines.filter { !$0.hasPrefix("-----") }.joined()
        guard let der = Data(base64Encoded: text, options: .ignoreUnknownCharacters) else { return nil }
        return Array(der).withUnsafeBufferPointer { bytes in
            var next = bytes.baseAddress
            return d2i_PublicKey(EVP_PKEY_RSA, nil, &next, bytes.count)
        }
    }

    func sign(_ message: [UInt8], _ digest: Digest, _ scheme: Scheme) throws(HostCrypto.Failure) -> [UInt8] {
        guard let context = EVP_MD_CTX_new() else { throw HostCrypto.Failure("signing failed") }
        defer { EVP_MD_CTX_free(context) }
        var parameters: OpaquePointer?
        var count = 0
        guard EVP_DigestSignInit(context, &parameters, digest.function, nil, key) == 1 else {
            throw HostCrypto.Failure("the key can't sign")
        }
        try prepare(parameters, scheme, isSigning: true)
        guard EVP_DigestSign(context, nil, &count, message, message.count) == 1 else {
            throw HostCrypto.Failure("signing failed")
        }
        var signature = [UInt8](repeating: 0, count: count)
        guard EVP_DigestSign(context, &signature, &count, message, message.count) == 1 else {
            throw HostCrypto.Failure("signing failed")
        }
        signature.removeLast(signature.count - count)
        guard scheme == .ecdsa else { return signature }
        guard let joined = ECDSASignature(der: signature)?.joined(bytes: numberBytes) else {
            throw HostCrypto.Failure("signing failed")
        }
        return joined
    }

    func verify(
        _ signature: [UInt8], of message: [UInt8], _ digest: Digest, _ scheme: Scheme
    ) throws(HostCrypto.Failure) -> Bool {
        guard let context = EVP_MD_CTX_new() else { throw HostCrypto.Failure("verifying failed") }
        defer { EVP_MD_CTX_free(context) }
        var parameters: OpaquePointer?
        guard EVP_DigestVerifyInit(context, &parameters, digest.function, nil, key) == 1 else {
            throw HostCrypto.Failure("the key can't verify")
        }
        try prepare(parameters, scheme, isSigning: false)
        var signature = signature
        if scheme == .ecdsa {
            guard let parts = ECDSASignature(joined: signature, bytes: numberBytes) else { return false }
            signature = parts.der
        }
        return EVP_DigestVerify(context, signature, signature.count, message, message.count) == 1
    }

    /// The key's type and its size in bits: `rsa 2048`.
    var kind: String {
        let type = EVP_PKEY_get_base_id(key)
        return "\(type == EVP_PKEY_RSA ? "rsa" : type == EVP_PKEY_EC ? "ec" : "other") \(EVP_PKEY_get_bits(key))"
    }

    /// The size in bytes of each number of an ECDSA signature.
    private var numberBytes: Int { (Int(EVP_PKEY_get_bits(key)) + 7) / 8 }

    private func prepare(
        _ parameters: OpaquePointer?, _ scheme: Scheme, isSigning: Bool
    ) throws(HostCrypto.Failure) {
        let isCurve = EVP_PKEY_get_base_id(key) == EVP_PKEY_EC
        guard isCurve == (scheme == .ecdsa || scheme == .ecdsaDER) else {
            throw HostCrypto.Failure("the key's type doesn't match the signature scheme")
        }
        switch scheme {
        case .ecdsa, .ecdsaDER, .pkcs1v15: return
        case .pss, .josePSS:
            let salt =
                scheme == .josePSS
                ? RSA_PSS_SALTLEN_DIGEST : isSigning ? RSA_PSS_SALTLEN_MAX_SIGN : RSA_PSS_SALTLEN_AUTO
            guard EVP_PKEY_CTX_set_rsa_padding(parameters, RSA_PKCS1_PSS_PADDING) == 1,
                EVP_PKEY_CTX_set_rsa_pss_saltlen(parameters, salt) == 1
            else { throw HostCrypto.Failure("the key can't be used with PSS") }
        }
    }
}
