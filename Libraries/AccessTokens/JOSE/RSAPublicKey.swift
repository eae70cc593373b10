import Foundation

/// The two numbers of an RSA public key, big-endian without leading zeros.
struct RSAPublicKey: Sendable {
    let modulus: [UInt8]
    let exponent: [UInt8]

    /// - Throws: `keyInvalid` for less than 2048 or more than 8192 bits, and for an unusual exponent.
    init(modulus: [UInt8], exponent: [UInt8]) throws(AccessTokenError) {
        self.modulus = Array(modulus.drop { $0 == 0 })
        self.exponent = Array(exponent.drop { $0 == 0 })
        guard (256...1024).contains(self.modulus.count), self.modulus.last.map({ $0 & 1 == 1 }) == true else {
            throw AccessTokenError(.keyInvalid, "an RSA modulus must have 2048 to 8192 bits")
        }
        guard (1...4).contains(self.exponent.count), self.exponent.last.map({ $0 & 1 == 1 }) == true,
            self.exponent != [1]
        else { throw AccessTokenError(.keyInvalid, "an unusual RSA exponent") }
    }

    /// Reads PEM: a SubjectPublicKeyInfo (RFC 5280) or an RSAPublicKey (RFC 8017).
    init(pem text: String) throws(AccessTokenError) {
        for (label, isWrapped) in [("PUBLIC KEY", true), ("RSA PUBLIC KEY", false)] {
            guard let start = text.range(of: "-----BEGIN \(label)-----"),
                let end = text.range(of: "-----END \(label)-----", range: start.upperBound..<text.endIndex)
            else { continue }
            let lines = text[start.upperBound..<end.lowerBound].filter { !$0.isWhitespace }
            guard let data = Data(base64Encoded: String(lines)) else { break }
            try self.init(der: Array(data), isWrapped: isWrapped)
            return
        }
        throw AccessTokenError(.keyInvalid, "not a public key in PEM")
    }

    private init(der bytes: [UInt8], isWrapped: Bool) throws(AccessTokenError) {
        var outer = DERReader(bytes[...])
        var fields = try outer.sequence()
        if isWrapped {
            var algorithm = try fields.sequence()
            guard try algorithm.element(tag: 0x06).elementsEqual(Self.rsaEncryption) else {
                throw AccessTokenError(.keyInvalid, "not an RSA key")
            }
            // The first byte of a bit string counts unused bits.
            let string = try fields.element(tag: 0x03)
            guard string.first == 0 else { throw DERReader.malformed }
            var inner = DERReader(string.dropFirst())
            fields = try inner.sequence()
        }
        try self.init(modulus: Array(fields.element(tag: 0x02)), exponent: Array(fields.element(tag: 0x02)))
    }

    /// The object identifier 1.2.840.113549.1.1.1, rsaEncryption.
    private static let rsaEncryption: [UInt8] = [0x2A, 0x86, 0x48, 0x86, 0xF7, 0x0D, 0x01, 0x01, 0x01]
}

/// Reads the subset of DER that public keys use.
private struct DERReader {
    static let malformed = AccessTokenError(.keyInvalid, "not a public key in DER")
    private var rest: ArraySlice<UInt8>

    init(_ bytes: ArraySlice<UInt8>) { rest = bytes }

    mutating func sequence() throws(AccessTokenError) -> DERReader { DERReader(try element(tag: 0x30)) }

    /// The contents of the next element, which must have this tag.
    mutating func element(tag: UInt8) throws(AccessTokenError) -> ArraySlice<UInt8> {
        guard rest.popFirst() == tag, let first = rest.popFirst() else { throw Self.malformed }
        var count = Int(first)
        if first & 0x80 != 0 {
            let bytes = rest.prefix(Int(first & 0x7F))
            // A key of 8192 bits has a length of two bytes.
            guard (1...2).contains(bytes.count), bytes.count == Int(first & 0x7F) else { throw Self.malformed }
            count = bytes.reduce(0) { $0 << 8 | Int($1) }
            rest = rest.dropFirst(bytes.count)
        }
        guard count <= rest.count else { throw Self.malformed }
        defer { rest = rest.dropFirst(count) }
        return rest.prefix(count)
    }
}
