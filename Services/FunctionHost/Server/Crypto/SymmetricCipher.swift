import Ccrypto

/// A cipher of OpenSSL, such as `aes-256-cbc` or `aes-256-gcm`, on a whole message.
struct SymmetricCipher {
    struct Parameters {
        var key: [UInt8]
        /// The initialization vector or nonce; empty for a mode without one.
        var iv: [UInt8]
        var isPadded: Bool
        /// What an authenticated mode protects besides the message.
        var authenticated: [UInt8]
    }

    private let cipher: OpaquePointer
    private let isAuthenticated: Bool

    init(_ name: String) throws(HostCrypto.Failure) {
        guard !name.utf8.contains(0), let cipher = EVP_get_cipherbyname(name) else {
            throw HostCrypto.Failure("the cipher '\(name)' is not supported")
        }
        // CCM needs the message's length in advance, and key wrapping a flag.
        guard
            ![Int32(EVP_CIPH_CCM_MODE), Int32(EVP_CIPH_WRAP_MODE), Int32(EVP_CIPH_XTS_MODE)].contains(
                EVP_CIPHER_get_mode(cipher))
        else { throw HostCrypto.Failure("the mode of the cipher '\(name)' is not supported") }
        self.cipher = cipher
        isAuthenticated = EVP_CIPHER_get_flags(cipher) & UInt(EVP_CIPH_FLAG_AEAD_CIPHER) != 0
    }

    /// Refuses a key or initialization vector of a wrong length.
    func check(key: [UInt8], iv: [UInt8]) throws(HostCrypto.Failure) {
        guard key.count == Int(EVP_CIPHER_get_key_length(cipher)) else {
            throw HostCrypto.Failure("Invalid key length")
        }
        let expected = Int(EVP_CIPHER_get_iv_length(cipher))
        guard isAuthenticated ? !iv.isEmpty : iv.count == expected else {
            throw HostCrypto.Failure("Invalid initialization vector")
        }
    }

    /// - Returns: the encrypted message, followed by the tag in an authenticated mode.
    func encrypt(
        _ message: [UInt8], _ parameters: Parameters, tagBytes: Int
    ) throws(HostCrypto.Failure) -> [UInt8] {
        var (result, context) = try run(message, parameters, encrypts: true, tag: nil)
        defer { EVP_CIPHER_CTX_free(context) }
        guard isAuthenticated else { return result }
        guard (4...16).contains(tagBytes) else {
            throw HostCrypto.Failure("Invalid authentication tag length: \(tagBytes)")
        }
        var tag = [UInt8](repeating: 0, count: tagBytes)
        guard EVP_CIPHER_CTX_ctrl(context, EVP_CTRL_AEAD_GET_TAG, Int32(tagBytes), &tag) == 1 else {
            throw HostCrypto.Failure("encryption failed")
        }
        result += tag
        return result
    }

    func decrypt(_ message: [UInt8], _ parameters: Parameters, tag: [UInt8]) throws(HostCrypto.Failure) -> [UInt8] {
        if isAuthenticated, !(4...16).contains(tag.count) {
            throw HostCrypto.Failure("Unsupported state or unable to authenticate data")
        }
        let (result, context) = try run(message, parameters, encrypts: false, tag: isAuthenticated ? tag : nil)
        EVP_CIPHER_CTX_free(context)
        return result
    }

    private func run(
        _ message: [UInt8], _ parameters: Parameters, encrypts: Bool, tag: [UInt8]?
    ) throws(HostCrypto.Failure) -> ([UInt8], OpaquePointer) {
        try check(key: parameters.key, iv: parameters.iv)
        guard let context = EVP_CIPHER_CTX_new() else { throw HostCrypto.Failure("the cipher failed") }
        var isDone = false
        defer { if !isDone { EVP_CIPHER_CTX_free(context) } }
        let direction: Int32 = encrypts ? 1 : 0
        var count: Int32 = 0
        guard EVP_CipherInit_ex(context, cipher, nil, nil, nil, direction) == 1,
            !isAuthenticated
                || EVP_CIPHER_CTX_ctrl(context, EVP_CTRL_AEAD_SET_IVLEN, Int32(parameters.iv.count), nil) == 1,
            EVP_CipherInit_ex(context, nil, nil, parameters.key, parameters.iv, direction) == 1,
            EVP_CIPHER_CTX_set_padding(context, parameters.isPadded ? 1 : 0) == 1,
            parameters.authenticated.isEmpty || !isAuthenticated
                || EVP_CipherUpdate(
                    context, nil, &count, parameters.authenticated, Int32(parameters.authenticated.count)) == 1
        else { throw HostCrypto.Failure("the cipher failed") }
        if var tag {
            guard EVP_CIPHER_CTX_ctrl(context, EVP_CTRL_AEAD_SET_TAG, Int32(tag.count), &tag) == 1 else {
                throw HostCrypto.Failure("the cipher failed")
            }
        }
        var result = [UInt8](repeating: 0, count: message.count + Int(EVP_MAX_BLOCK_LENGTH))
        var end: Int32 = 0
        count = 0
        let isRight = result.withUnsafeMutableBufferPointer { bytes -> Bool in
            guard let start = bytes.baseAddress,
                EVP_CipherUpdate(context, start, &count, message, Int32(message.count)) == 1
            else { return false }
            return EVP_CipherFinal_ex(context, start + Int(count), &end) == 1
        }
        guard isRight else {
            throw HostCrypto.Failure(
                isAuthenticated
                    ? "Unsupported state or unable to authenticate data"
                    : encrypts ? "wrong final block length" : "bad decrypt")
        }
        isDone = true
        return (Array(result.prefix(Int(count + end))), context)
    }
}
