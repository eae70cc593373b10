private import Csodium

/// The functions of SHA-2 that protocols of others prescribe. Auth's own digests are `Sodium.digest`.
enum HashFunctions {
    static func sha256(_ text: String) -> [UInt8] {
        var digest = [UInt8](repeating: 0, count: Int(crypto_hash_sha256_BYTES))
        let input = Array(text.utf8)
        _ = crypto_hash_sha256(&digest, input, UInt64(input.count))
        return digest
    }

    static func hmacSHA256(_ text: String, key: String) -> [UInt8] {
        var state = crypto_auth_hmacsha256_state()
        var code = [UInt8](repeating: 0, count: Int(crypto_auth_hmacsha256_BYTES))
        let (input, secret) = (Array(text.utf8), Array(key.utf8))
        _ = crypto_auth_hmacsha256_init(&state, secret, secret.count)
        _ = crypto_auth_hmacsha256_update(&state, input, UInt64(input.count))
        _ = crypto_auth_hmacsha256_final(&state, &code)
        return code
    }
}
