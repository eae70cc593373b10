import Foundation

/// The operations on bytes behind `utils.crypto` and `utils.jwt`. The prelude passes bytes as Base64.
enum HostCrypto {
    /// An error caused by a script's arguments.
    struct Failure: Error {
        let message: String
        init(_ message: String) { self.message = message }
    }

    /// Performs an operation, given as its name and its arguments.
    /// - Returns: the result after a `+`, or the error message after a `-`.
    static func call(_ words: [String]) -> String {
        do throws(Failure) {
            return "+" + Data(try perform(words)).base64EncodedString()
        } catch {
            return "-" + error.message
        }
    }

    private static func perform(_ words: [String]) throws(Failure) -> [UInt8] {
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
        case let operation: throw Failure("\(operation) is not supported")
        }
    }
}
