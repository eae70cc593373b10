private import Ccrypt
private import Ccrypto
import DocumentModel

/// The functions by which other systems hash passwords, from libcrypt and OpenSSL.
enum ForeignDigests {
    /// Whether libcrypt makes a hash of a password, by the setting in the hash itself.
    static func isCrypt(_ hash: String, of password: String) -> Bool {
        let state = UnsafeMutablePointer<crypt_data>.allocate(capacity: 1)
        defer { state.deallocate() }
        memset(state, 0, MemoryLayout<crypt_data>.size)
        // It is nil where the setting is malformed.
        guard let made = crypt_rn(password, hash, state, Int32(MemoryLayout<crypt_data>.size)) else { return false }
        return Sodium.areEqual(Array(String(cString: made).utf8), Array(hash.utf8))
    }

    /// - Returns: `nil` when memory is short.
    static func scrypt(_ password: String, salt: [UInt8], cost: ScryptCost, count: Int) -> [UInt8]? {
        var digest = [UInt8](repeating: 0, count: count)
        defer { ERR_clear_error() }
        let result = EVP_PBE_scrypt(
            password, password.utf8.count, salt, salt.count, UInt64(cost.n), UInt64(cost.r), UInt64(cost.p),
            UInt64(cost.memoryBytes + (32 << 20)), &digest, count)
        return result == 1 ? digest : nil
    }

    static func pbkdf2(
        _ password: String, salt: [UInt8], function: PBKDF2Function, iterations: Int, count: Int
    ) -> [UInt8]? {
        let method =
            switch function {
            case .sha1: EVP_sha1()
            case .sha256: EVP_sha256()
            case .sha512: EVP_sha512()
            }
        var digest = [UInt8](repeating: 0, count: count)
        let result = PKCS5_PBKDF2_HMAC(
            password, Int32(password.utf8.count), salt, Int32(salt.count), Int32(iterations), method, Int32(count),
            &digest)
        return result == 1 ? digest : nil
    }
}
