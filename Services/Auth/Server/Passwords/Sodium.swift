private import Csodium

/// What auth takes from libsodium, which `Libraries/Secrets` knows besides.
///
/// Every function begins with `ready`: `sodium_init` is idempotent and safe to call from several threads, and must come first.
enum Sodium {
    private static let ready: Bool = sodium_init() >= 0

    /// - Returns: an argon2id hash as a PHC string; `nil` when there isn't enough memory.
    static func hashPassword(_ password: String, operations: Int, memoryBytes: Int) -> String? {
        guard ready else { return nil }
        var text = [CChar](repeating: 0, count: crypto_pwhash_strbytes())
        let result = password.withCString { bytes in
            crypto_pwhash_str(&text, bytes, UInt64(password.utf8.count), UInt64(operations), memoryBytes)
        }
        guard result == 0 else { return nil }
        return String(decoding: text.prefix { $0 != 0 }.map(UInt8.init(bitPattern:)), as: UTF8.self)
    }

    static func verifyPassword(_ password: String, hash: String) -> Bool {
        guard ready else { return false }
        return password.withCString { bytes in
            crypto_pwhash_str_verify(hash, bytes, UInt64(password.utf8.count)) == 0
        }
    }

    /// Whether a hash was made with other costs.
    static func needsRehash(_ hash: String, operations: Int, memoryBytes: Int) -> Bool {
        ready && crypto_pwhash_str_needs_rehash(hash, UInt64(operations), memoryBytes) != 0
    }

    static func randomBytes(_ count: Int) -> [UInt8] {
        precondition(ready, "libsodium found no source of randomness")
        var bytes = [UInt8](repeating: 0, count: count)
        randombytes_buf(&bytes, count)
        return bytes
    }

    /// 32 bytes of BLAKE2b: for secrets that are random already, and for keys of Redis.
    static func digest(_ text: String) -> [UInt8] {
        precondition(ready, "libsodium can't be used")
        var digest = [UInt8](repeating: 0, count: 32)
        let input = Array(text.utf8)
        _ = crypto_generichash(&digest, digest.count, input, UInt64(input.count), nil, 0)
        return digest
    }

    /// Compares in a time that doesn't depend on where they differ.
    static func areEqual(_ left: [UInt8], _ right: [UInt8]) -> Bool {
        left.count == right.count && ready && sodium_memcmp(left, right, left.count) == 0
    }
}
