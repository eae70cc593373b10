import Ccrypto

/// Random bytes of OpenSSL's generator, which can't be predicted.
enum Randomness {
    static func bytes(_ count: Int) throws(HostCrypto.Failure) -> [UInt8] {
        guard count >= 0, count <= 1 << 24 else { throw HostCrypto.Failure("\(count) random bytes are not supported") }
        var bytes = [UInt8](repeating: 0, count: count)
        guard RAND_bytes(&bytes, Int32(count)) == 1 else { throw HostCrypto.Failure("there are no random bytes") }
        return bytes
    }
}
