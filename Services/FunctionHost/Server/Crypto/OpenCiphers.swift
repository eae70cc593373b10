/// The ciphers that a request has begun and not ended, by their numbers.
final class OpenCiphers {
    /// How many a request may have. Each has a few kilobytes of memory that the engine doesn't count.
    private static let maximum = 1000

    private var ciphers: [Int: SymmetricCipher] = [:]
    private var last = 0

    /// - Returns: its number.
    func add(_ cipher: SymmetricCipher) throws(HostCrypto.Failure) -> Int {
        guard ciphers.count < Self.maximum else {
            throw HostCrypto.Failure("\(Self.maximum) ciphers are open already: call their final()")
        }
        last += 1
        ciphers[last] = cipher
        return last
    }

    func cipher(_ number: Int) throws(HostCrypto.Failure) -> SymmetricCipher {
        guard let cipher = ciphers[number] else { throw HostCrypto.Failure("Invalid state") }
        return cipher
    }

    func remove(_ number: Int) throws(HostCrypto.Failure) -> SymmetricCipher {
        guard let cipher = ciphers.removeValue(forKey: number) else { throw HostCrypto.Failure("Invalid state") }
        return cipher
    }
}
