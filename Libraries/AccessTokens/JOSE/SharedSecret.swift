private import Ccrypto

/// Checks of what a caller sends against a secret that both sides know. They take a time that doesn't depend on where the two differ.
public enum SharedSecret {
    /// Whether `code` is the HMAC with SHA-256 (RFC 2104) of a text; it has 32 bytes.
    public static func isHMAC(_ code: [UInt8], of text: [UInt8], secret: [UInt8]) -> Bool {
        var digest = [UInt8](repeating: 0, count: 32)
        var count: UInt32 = 0
        guard HMAC(EVP_sha256(), secret, Int32(secret.count), text, text.count, &digest, &count) != nil, count == 32,
            code.count == 32
        else { return false }
        return CRYPTO_memcmp(code, digest, 32) == 0
    }

    /// Whether the text that was sent is the secret, byte for byte. An empty secret is never the same, since it isn't one.
    public static func isSame(_ sent: String, _ secret: String) -> Bool {
        guard !secret.isEmpty else { return false }
        // Digests have the same length, so that the time says nothing about the secret's length.
        let digests = [sent, secret].map { text in
            let bytes = Array(text.utf8)
            var digest = [UInt8](repeating: 0, count: 32)
            SHA256(bytes, bytes.count, &digest)
            return digest
        }
        return CRYPTO_memcmp(digests[0], digests[1], 32) == 0
    }
}
