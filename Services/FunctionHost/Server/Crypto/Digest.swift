import Ccrypto

/// A hash function.
struct Digest {
    /// The library's hash function, which exists as long as the process.
    let function: OpaquePointer

    /// - Parameter name: `md5`, `sha1`, `sha256`, `sha384`, `sha512`.
    init(_ name: String) throws(HostCrypto.Failure) {
        let function: OpaquePointer? =
            switch name {
            case "md5": EVP_md5()
            case "sha1": EVP_sha1()
            case "sha256": EVP_sha256()
            case "sha384": EVP_sha384()
            case "sha512": EVP_sha512()
            default: nil
            }
        guard let function else { throw HostCrypto.Failure("the hash function '\(name)' is not supported") }
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
