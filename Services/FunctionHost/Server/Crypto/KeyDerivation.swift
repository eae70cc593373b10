import Ccrypto

/// Keys from passwords.
enum KeyDerivation {
    /// The longest key in bytes.
    private static let maximumBytes = 1 << 20

    /// PBKDF2 (RFC 8018, 5.2).
    static func pbkdf2(
        _ digest: Digest, password: [UInt8], salt: [UInt8], iterations: Int, count: Int
    ) throws(HostCrypto.Failure) -> [UInt8] {
        // One step of the engine, which its watchdog can't interrupt: ten million take seconds.
        guard (1...10_000_000).contains(iterations), (0...maximumBytes).contains(count) else {
            throw HostCrypto.Failure("pbkdf2 takes 1 to 10,000,000 iterations and at most \(maximumBytes) bytes")
        }
        var key = [UInt8](repeating: 0, count: count)
        let isDone = password.withUnsafeBytes { bytes in
            PKCS5_PBKDF2_HMAC(
                bytes.baseAddress?.assumingMemoryBound(to: CChar.self), Int32(bytes.count), salt, Int32(salt.count),
                Int32(iterations), digest.function, Int32(count), &key)
        }
        guard isDone == 1 else { throw HostCrypto.Failure("pbkdf2 failed") }
        return key
    }

    /// scrypt (RFC 7914).
    /// - Parameter maximumMemory: in bytes; what needs more is refused.
    static func scrypt(
        password: [UInt8], salt: [UInt8], count: Int, cost: Int, blockSize: Int, parallelism: Int, maximumMemory: Int
    ) throws(HostCrypto.Failure) -> [UInt8] {
        guard (0...maximumBytes).contains(count), cost > 1, blockSize > 0, parallelism > 0,
            (1...(256 << 20)).contains(maximumMemory)
        else { throw HostCrypto.Failure("scrypt's parameters are out of range") }
        var key = [UInt8](repeating: 0, count: count)
        let isDone = password.withUnsafeBytes { bytes in
            EVP_PBE_scrypt(
                bytes.baseAddress?.assumingMemoryBound(to: CChar.self), bytes.count, salt, salt.count, UInt64(cost),
                UInt64(blockSize), UInt64(parallelism), UInt64(maximumMemory), &key, count)
        }
        guard isDone == 1 else {
            throw HostCrypto.Failure("scrypt failed: its parameters need more memory than maxmem")
        }
        return key
    }
}
