import Ccrypto

/// A hash function.
struct Digest {
    /// The library's hash function, which exists as long as the process.
    let function: OpaquePointer

    /// - Parameter name: as OpenSSL and Node call it, in any case: `md5`, `sha1`, `sha256`, `sha512-256`, `sha3-256`, …
    init(_ name: String) throws(HostCrypto.Failure) {
        guard !name.utf8.contains(0), let function = EVP_get_digestbyname(name) else {
            throw HostCrypto.Failure("the hash function '\(name)' is not supported")
        }
        self.function = function
    }

    func hash(_ bytes: [UInt8]) throws(HostCrypto.Failure) -> [UInt8] {
        var result = [UInt8](repeating: 0, count: Int(EVP_MAX_MD_SIZE))
        var count: UInt32 = 0
        guard EVP_Digest(bytes, bytes.count, &result, &count, function, nil) == 1 else {
            throw HostCrypto.Failure("the hash failed")
        }
        return Array(result.prefix(Int(count)))
    }

    func hmac(_ bytes: [UInt8], key: [UInt8]) throws(HostCrypto.Failure) -> [UInt8] {
        var result = [UInt8](repeating: 0, count: Int(EVP_MAX_MD_SIZE))
        var count: UInt32 = 0
        guard HMAC(function, key, Int32(key.count), bytes, bytes.count, &result, &count) != nil else {
            throw HostCrypto.Failure("the hmac failed")
        }
        return Array(result.prefix(Int(count)))
    }
}
