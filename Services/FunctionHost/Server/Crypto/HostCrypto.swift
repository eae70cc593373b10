import Foundation

/// The operations on bytes behind `utils.crypto`, `utils.jwt`, and Node's `crypto` and `zlib`. The prelude passes bytes as Base64.
enum HostCrypto {
    /// An error caused by a script's arguments.
    struct Failure: Error {
        let message: String
        init(_ message: String) { self.message = message }
    }

    /// Performs an operation, given as its name and its arguments.
    /// - Parameter ciphers: the request's.
    /// - Returns: the result after a `+`, or the error message after a `-`.
    static func call(_ words: [String], _ ciphers: OpenCiphers = OpenCiphers()) -> String {
        do throws(Failure) {
            return "+" + Data(try perform(words, ciphers)).base64EncodedString()
        } catch {
            return "-" + error.message
        }
    }

    private static func perform(_ words: [String], _ ciphers: OpenCiphers) throws(Failure) -> [UInt8] {
        func bytes(_ place: Int) throws(Failure) -> [UInt8] {
            guard place < words.count, let data = Data(base64Encoded: words[place]) else {
                throw Failure("an argument is missing")
            }
            return Array(data)
        }
        func name(_ place: Int) throws(Failure) -> String {
            guard place < words.count else { throw Failure("an argument is missing") }
            return words[place]
        }
        func number(_ place: Int) throws(Failure) -> Int {
            guard let number = Int(try name(place)) else { throw Failure("an argument isn't a number") }
            return number
        }
        switch try name(0) {
        case "hash": return try Digest(try name(1)).hash(try bytes(2))
        case "hmac": return try Digest(try name(1)).hmac(try bytes(2), key: try bytes(3))
        case "seal": return try SealedBox.seal(try bytes(1), key: try bytes(2), salt: try bytes(3))
        case "open": return try SealedBox.open(try bytes(1), key: try bytes(2))
        case "sign":
            let key = try SigningKey(pem: try bytes(3), isPrivate: true)
            return try key.sign(try bytes(4), Digest(try name(1)), SigningKey.Scheme(try name(2)))
        case "verify":
            let key = try SigningKey(pem: try bytes(3), isPrivate: false)
            let isValid = try key.verify(
                try bytes(5), of: try bytes(4), Digest(try name(1)), SigningKey.Scheme(try name(2)))
            return [isValid ? 1 : 0]
        case "key":
            let key = try SigningKey(pem: try bytes(2), isPrivate: try name(1) == "1", passphrase: try bytes(3))
            return Array(key.kind.utf8) + [0x0A] + (try key.pem())
        case "random": return try Randomness.bytes(try number(1))
        case "cipher-lengths":
            let lengths = try SymmetricCipher.lengths(of: try name(1))
            return Array("\(lengths.key) \(lengths.iv) \(lengths.block)".utf8)
        case "cipher-begin":
            let cipher = try SymmetricCipher(
                try name(1), key: try bytes(3), iv: try bytes(4), encrypts: try name(2) == "1",
                tagBytes: try number(5))
            return Array("\(try ciphers.add(cipher)) \(cipher.isAuthenticated ? 1 : 0)".utf8)
        case "cipher-padding":
            try ciphers.cipher(try number(1)).setPadding(try name(2) == "1")
            return []
        case "cipher-authenticate":
            try ciphers.cipher(try number(1)).authenticate(try bytes(2))
            return []
        case "cipher-update": return try ciphers.cipher(try number(1)).update(try bytes(2))
        case "cipher-final": return try ciphers.remove(try number(1)).finish(tag: try bytes(2))
        case "pbkdf2":
            return try KeyDerivation.pbkdf2(
                Digest(try name(1)), password: try bytes(2), salt: try bytes(3), iterations: try number(4),
                count: try number(5))
        case "scrypt":
            return try KeyDerivation.scrypt(
                password: try bytes(1), salt: try bytes(2), count: try number(3), cost: try number(4),
                blockSize: try number(5), parallelism: try number(6), maximumMemory: try number(7))
        case "deflate": return try Compression.deflate(try bytes(3), windowBits: try number(1), level: try number(2))
        case "inflate": return try Compression.inflate(try bytes(3), windowBits: try number(1))
        case let operation: throw Failure("\(operation) is not supported")
        }
    }
}
