private import Csodium

/// Authenticated encryption with a key (XSalsa20-Poly1305).
///
/// `sodium_init`, which is idempotent and thread-safe, must be called first.
enum SecretBox {
    private static let ready: Bool = sodium_init() >= 0

    /// The BLAKE2b hash of a text, 32 bytes, which are used as a key.
    static func digest(_ text: String) -> [UInt8] {
        precondition(ready, "libsodium can't be used")
        var digest = [UInt8](repeating: 0, count: crypto_secretbox_keybytes())
        let input = Array(text.utf8)
        _ = crypto_generichash(&digest, digest.count, input, UInt64(input.count), nil, 0)
        return digest
    }

    /// A new key.
    static func randomKey() -> [UInt8] {
        precondition(ready, "libsodium can't be used")
        var key = [UInt8](repeating: 0, count: crypto_secretbox_keybytes())
        randombytes_buf(&key, key.count)
        return key
    }

    /// Encrypts bytes; returns the nonce and the ciphertext.
    static func seal(_ bytes: [UInt8], key: [UInt8]) -> [UInt8] {
        precondition(ready && key.count == crypto_secretbox_keybytes(), "a key of secretbox has 32 bytes")
        var nonce = [UInt8](repeating: 0, count: crypto_secretbox_noncebytes())
        randombytes_buf(&nonce, nonce.count)
        var sealed = [UInt8](repeating: 0, count: bytes.count + crypto_secretbox_macbytes())
        _ = crypto_secretbox_easy(&sealed, bytes, UInt64(bytes.count), nonce, key)
        return nonce + sealed
    }

    /// - Returns: `nil` when the key is wrong or the bytes were altered.
    static func open(_ sealed: [UInt8], key: [UInt8]) -> [UInt8]? {
        let nonceCount = crypto_secretbox_noncebytes()
        let macCount = crypto_secretbox_macbytes()
        guard ready, key.count == crypto_secretbox_keybytes(), sealed.count >= nonceCount + macCount else { return nil }
        let box = Array(sealed[nonceCount...])
        var bytes = [UInt8](repeating: 0, count: box.count - macCount)
        guard crypto_secretbox_open_easy(&bytes, box, UInt64(box.count), Array(sealed[..<nonceCount]), key) == 0 else {
            return nil
        }
        return bytes
    }
}
