import Ccrypto

/// A cipher of OpenSSL at work, such as `aes-256-cbc` or `aes-256-gcm`: it takes a message in parts, and gives what is complete of the
/// result after each.
final class SymmetricCipher {
    private let context: OpaquePointer
    private let encrypts: Bool
    /// The length of the tag that an authenticated mode makes, in bytes.
    private let tagBytes: Int
    /// Whether it has a tag.
    let isAuthenticated: Bool

    /// - Parameters:
    ///   - iv: the initialization vector or nonce; empty for a mode without one.
    ///   - tagBytes: the length of the tag, for an authenticated mode.
    init(
        _ name: String, key: [UInt8], iv: [UInt8], encrypts: Bool, tagBytes: Int
    ) throws(HostCrypto.Failure) {
        let cipher = try Self.cipher(name)
        isAuthenticated = EVP_CIPHER_get_flags(cipher) & UInt(EVP_CIPH_FLAG_AEAD_CIPHER) != 0
        guard key.count == Int(EVP_CIPHER_get_key_length(cipher)) else {
            throw HostCrypto.Failure("Invalid key length")
        }
        guard isAuthenticated ? !iv.isEmpty : iv.count == Int(EVP_CIPHER_get_iv_length(cipher)) else {
            throw HostCrypto.Failure("Invalid initialization vector")
        }
        if isAuthenticated { try Self.check(tagBytes: tagBytes) }
        guard let context = EVP_CIPHER_CTX_new() else { throw HostCrypto.Failure("the cipher failed") }
        // This mode has to know the tag's length before the key.
        let needsTagLength = EVP_CIPHER_get_mode(cipher) == Int32(EVP_CIPH_OCB_MODE)
        guard EVP_CipherInit_ex(context, cipher, nil, nil, nil, encrypts ? 1 : 0) == 1,
            !isAuthenticated
                || EVP_CIPHER_CTX_ctrl(context, EVP_CTRL_AEAD_SET_IVLEN, Int32(iv.count), nil) == 1,
            !needsTagLength || EVP_CIPHER_CTX_ctrl(context, EVP_CTRL_AEAD_SET_TAG, Int32(tagBytes), nil) == 1,
            EVP_CipherInit_ex(context, nil, nil, key, iv, encrypts ? 1 : 0) == 1
        else {
            EVP_CIPHER_CTX_free(context)
            throw HostCrypto.Failure("Invalid initialization vector")
        }
        self.context = context
        self.encrypts = encrypts
        self.tagBytes = tagBytes
    }

    deinit { EVP_CIPHER_CTX_free(context) }

    /// The lengths of a cipher's key, initialization vector and blocks, in bytes.
    static func lengths(of name: String) throws(HostCrypto.Failure) -> (key: Int, iv: Int, block: Int) {
        let cipher = try cipher(name)
        return (
            Int(EVP_CIPHER_get_key_length(cipher)), Int(EVP_CIPHER_get_iv_length(cipher)),
            Int(EVP_CIPHER_get_block_size(cipher))
        )
    }

    private static func cipher(_ name: String) throws(HostCrypto.Failure) -> OpaquePointer {
        guard !name.utf8.contains(0), let cipher = EVP_get_cipherbyname(name) else {
            throw HostCrypto.Failure("Unknown cipher")
        }
        // CCM needs the message's length in advance, and key wrapping a flag.
        guard
            ![Int32(EVP_CIPH_CCM_MODE), Int32(EVP_CIPH_WRAP_MODE), Int32(EVP_CIPH_XTS_MODE)].contains(
                EVP_CIPHER_get_mode(cipher))
        else { throw HostCrypto.Failure("the mode of the cipher '\(name)' is not supported") }
        return cipher
    }

    private static func check(tagBytes: Int) throws(HostCrypto.Failure) {
        guard (4...16).contains(tagBytes) else {
            throw HostCrypto.Failure("Invalid authentication tag length: \(tagBytes)")
        }
    }

    /// Whether the message's last block is filled up, or its filling removed.
    func setPadding(_ isPadded: Bool) { EVP_CIPHER_CTX_set_padding(context, isPadded ? 1 : 0) }

    /// Adds what an authenticated mode protects besides the message.
    func authenticate(_ bytes: [UInt8]) throws(HostCrypto.Failure) {
        var count: Int32 = 0
        guard isAuthenticated, bytes.isEmpty || EVP_CipherUpdate(context, nil, &count, bytes, Int32(bytes.count)) == 1
        else { throw HostCrypto.Failure("Invalid state for operation setAAD") }
    }

    /// Takes a part of the message.
    /// - Returns: what is complete of the result.
    func update(_ bytes: [UInt8]) throws(HostCrypto.Failure) -> [UInt8] {
        guard !bytes.isEmpty else { return [] }
        var result = [UInt8](repeating: 0, count: bytes.count + Int(EVP_MAX_BLOCK_LENGTH))
        var count: Int32 = 0
        guard EVP_CipherUpdate(context, &result, &count, bytes, Int32(bytes.count)) == 1 else {
            throw HostCrypto.Failure("Trying to add data in unsupported state")
        }
        return Array(result.prefix(Int(count)))
    }

    /// Ends the message.
    /// - Parameter tag: that of a message to decrypt in an authenticated mode.
    /// - Returns: the rest of the result, after encryption in an authenticated mode followed by the tag.
    func finish(tag: [UInt8]) throws(HostCrypto.Failure) -> [UInt8] {
        if isAuthenticated, !encrypts {
            var tag = tag
            guard !tag.isEmpty,
                EVP_CIPHER_CTX_ctrl(context, EVP_CTRL_AEAD_SET_TAG, Int32(tag.count), &tag) == 1
            else { throw HostCrypto.Failure("Unsupported state or unable to authenticate data") }
        }
        var result = [UInt8](repeating: 0, count: Int(EVP_MAX_BLOCK_LENGTH))
        var count: Int32 = 0
        ERR_clear_error()
        guard EVP_CipherFinal_ex(context, &result, &count) == 1 else { throw finalFailure() }
        result.removeSubrange(Int(count)...)
        guard isAuthenticated, encrypts else { return result }
        var made = [UInt8](repeating: 0, count: tagBytes)
        guard EVP_CIPHER_CTX_ctrl(context, EVP_CTRL_AEAD_GET_TAG, Int32(tagBytes), &made) == 1 else {
            throw HostCrypto.Failure("encryption failed")
        }
        return result + made
    }

    /// Why the end of a message was refused, as Node says it.
    private func finalFailure() -> HostCrypto.Failure {
        let code = ERR_get_error()
        guard !isAuthenticated, code != 0 else {
            return HostCrypto.Failure("Unsupported state or unable to authenticate data")
        }
        return withUnsafeTemporaryAllocation(of: CChar.self, capacity: 256) { buffer in
            ERR_error_string_n(code, buffer.baseAddress, buffer.count)
            return HostCrypto.Failure(buffer.baseAddress.map { String(cString: $0) } ?? "the cipher failed")
        }
    }
}
