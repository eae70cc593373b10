import Ccrypto

/// AES in Galois counter mode, as App Services encrypted: twelve bytes of nonce, the ciphertext, sixteen bytes of tag.
enum SealedBox {
    private static let nonceBytes = 12
    private static let tagBytes = 16

    /// - Parameter salt: makes two boxes of one message differ. The nonce is derived from it, the key and the message: even when
    ///   the salt repeats, as in a run that starts again, no two messages share a nonce.
    static func seal(_ message: [UInt8], key: [UInt8], salt: [UInt8]) throws(HostCrypto.Failure) -> [UInt8] {
        let cipher = try cipher(key)
        let nonce = Array(try Digest("sha256").hmac(salt + message, key: key).prefix(nonceBytes))
        guard let context = EVP_CIPHER_CTX_new() else { throw HostCrypto.Failure("encryption failed") }
        defer { EVP_CIPHER_CTX_free(context) }
        var sealed = [UInt8](repeating: 0, count: message.count + tagBytes)
        var count: Int32 = 0
        var end: Int32 = 0
        var tag = [UInt8](repeating: 0, count: tagBytes)
        guard EVP_EncryptInit_ex(context, cipher, nil, key, nonce) == 1,
            EVP_EncryptUpdate(context, &sealed, &count, message, Int32(message.count)) == 1,
            EVP_EncryptFinal_ex(context, &tag, &end) == 1,
            EVP_CIPHER_CTX_ctrl(context, EVP_CTRL_AEAD_GET_TAG, Int32(tagBytes), &tag) == 1
        else { throw HostCrypto.Failure("encryption failed") }
        return nonce + sealed.prefix(message.count) + tag
    }

    static func open(_ box: [UInt8], key: [UInt8]) throws(HostCrypto.Failure) -> [UInt8] {
        let cipher = try cipher(key)
        guard box.count >= nonceBytes + tagBytes, let context = EVP_CIPHER_CTX_new() else {
            throw HostCrypto.Failure("the message isn't encrypted")
        }
        defer { EVP_CIPHER_CTX_free(context) }
        let nonce = Array(box.prefix(nonceBytes))
        let sealed = Array(box.dropFirst(nonceBytes).dropLast(tagBytes))
        var tag = Array(box.suffix(tagBytes))
        var message = [UInt8](repeating: 0, count: sealed.count + tagBytes)
        var end = [UInt8](repeating: 0, count: tagBytes)
        var count: Int32 = 0
        var rest: Int32 = 0
        guard EVP_DecryptInit_ex(context, cipher, nil, key, nonce) == 1,
            EVP_DecryptUpdate(context, &message, &count, sealed, Int32(sealed.count)) == 1,
            EVP_CIPHER_CTX_ctrl(context, EVP_CTRL_AEAD_SET_TAG, Int32(tagBytes), &tag) == 1,
            EVP_DecryptFinal_ex(context, &end, &rest) == 1
        else { throw HostCrypto.Failure("the key or the message isn't the one from the encryption") }
        return Array(message.prefix(Int(count)))
    }

    private static func cipher(_ key: [UInt8]) throws(HostCrypto.Failure) -> OpaquePointer? {
        switch key.count {
        case 16: return EVP_aes_128_gcm()
        case 24: return EVP_aes_192_gcm()
        case 32: return EVP_aes_256_gcm()
        default: throw HostCrypto.Failure("an AES key has 16, 24 or 32 bytes, not \(key.count)")
        }
    }
}
