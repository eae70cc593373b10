import DocumentModel
import Testing

@testable import AccessTokens

@Suite struct SignatureTests {
    private typealias Vectors = SignatureVectors
    private static let now = ForeignTokenVectors.now

    private static func keys() throws -> [ForeignTokenKey] {
        try ForeignTokenKey.keys(jwks: ExtendedJSON.parseDocument(Vectors.jwks))
    }

    private static func jwk(_ id: String) throws -> Document {
        let entries = try ExtendedJSON.parseDocument(Vectors.jwks)["keys"]?.arrayValue ?? []
        return try #require(entries.compactMap(\.documentValue).first { $0["kid"] == .string(id) })
    }

    private static func verifier(_ keys: [ForeignTokenKey], issuers: [String]? = nil) -> ForeignTokenVerifier {
        ForeignTokenVerifier(keys: keys, audience: .init(["shop"]), issuers: issuers, arePublished: true)
    }

    private func refusal(of token: String, by verifier: ForeignTokenVerifier) -> AccessTokenError.Code? {
        do throws(AccessTokenError) {
            _ = try verifier.verify(token, now: Self.now)
            return nil
        } catch {
            return error.code
        }
    }

    /// The same token with a bit of its signature changed.
    private static func damaged(_ token: String) throws -> String {
        var parts = token.split(separator: ".").map(String.init)
        var signature = try #require(Base64URL.decode(parts[2]))
        signature[signature.count / 2] ^= 1
        parts[2] = Base64URL.encode(signature)
        return parts.joined(separator: ".")
    }

    @Test func `there is a token for each algorithm with a public key`() {
        let names = Set(Vectors.tokens.map(\.algorithm))
        #expect(names == Set(SignatureAlgorithm.allCases.map(\.rawValue)).subtracting(["HS256"]))
    }

    @Test(arguments: SignatureVectors.tokens)
    func `each algorithm verifies what another implementation signed, and nothing else`(
        algorithm: String, token: String
    ) throws {
        let verifier = Self.verifier(try Self.keys())
        #expect(try verifier.verify(token, now: Self.now)["sub"] == "u-1")
        #expect(refusal(of: try Self.damaged(token), by: verifier) == .signatureInvalid)
        var parts = token.split(separator: ".").map(String.init)
        parts[2] = Base64URL.encode(try #require(Base64URL.decode(parts[2])).dropLast(3))
        #expect(refusal(of: parts.joined(separator: "."), by: verifier) == .signatureInvalid)
        parts[1] = Base64URL.encode(#"{"sub":"u-2","aud":"shop","exp":1800000300}"#.utf8)
        parts[2] = String(token.split(separator: ".")[2])
        #expect(refusal(of: parts.joined(separator: "."), by: verifier) == .signatureInvalid)
    }

    @Test(arguments: SignatureVectors.tokens)
    func `a key that names an algorithm is for that one`(algorithm: String, token: String) throws {
        let header = try CompactToken(token).header
        var jwk = try Self.jwk(try #require(header["kid"]?.stringValue))
        jwk["alg"] = .string(algorithm)
        #expect(refusal(of: token, by: Self.verifier([try ForeignTokenKey(jwk: jwk)])) == nil)
        for other in SignatureAlgorithm.allCases.map(\.rawValue) where other != algorithm {
            jwk["alg"] = .string(other)
            guard let key = try? ForeignTokenKey(jwk: jwk) else { continue }  // it doesn't fit the key's kind
            #expect(refusal(of: token, by: Self.verifier([key])) == .algorithmRefused, "\(other)")
        }
    }

    @Test(arguments: [
        ("rsa", "ES256"), ("rsa", "HS256"), ("rsa", "none"), ("rsa", "RSA-OAEP"), ("p256", "ES384"), ("p384", "ES256"),
        ("p521", "RS512"), ("ed25519", "ES256"), ("ed448", "PS512"),
    ])
    func `a key of a kind that doesn't fit its algorithm is refused`(id: String, algorithm: String) throws {
        var jwk = try Self.jwk(id)
        jwk["alg"] = .string(algorithm)
        #expect(throws: AccessTokenError.self) { try ForeignTokenKey(jwk: jwk) }
    }

    @Test func `a token that names another algorithm than its key's kind is refused`() throws {
        let verifier = Self.verifier(try Self.keys())
        for (algorithm, id) in [("none", "rsa"), ("HS256", "rsa"), ("ES256", "rsa"), ("RS256", "p256"), ("", "p256")] {
            let header = Base64URL.encode(#"{"alg":"\#(algorithm)","kid":"\#(id)"}"#.utf8)
            let parts = Vectors.tokens[0].token.split(separator: ".")
            #expect(refusal(of: "\(header).\(parts[1]).\(parts[2])", by: verifier) == .algorithmRefused)
        }
    }

    @Test func `points off their curve and damaged numbers are refused`() throws {
        for id in ["p256", "p384", "p521"] {
            var jwk = try Self.jwk(id)
            jwk["x"] = jwk["y"]
            #expect(throws: AccessTokenError.self) { try ForeignTokenKey(jwk: jwk) }
        }
        for (id, member) in [("rsa", "n"), ("rsa", "e"), ("p384", "y"), ("ed25519", "x"), ("ed448", "x")] {
            for value: Value? in [nil, "", "AA", "!", 1] {
                var jwk = try Self.jwk(id)
                jwk[member] = value
                #expect(throws: AccessTokenError.self, "\(id).\(member)") { try ForeignTokenKey(jwk: jwk) }
            }
        }
    }

    @Test(arguments: SignatureVectors.pems)
    func `a key in PEM verifies the algorithm that is configured for it`(algorithm: String, pem: String) throws {
        let token = try #require(Vectors.tokens.first { $0.algorithm == algorithm }?.token)
        let key = try ForeignTokenKey(pem: pem, algorithm: try #require(SignatureAlgorithm(rawValue: algorithm)))
        let verifier = ForeignTokenVerifier(keys: [key], audience: .init(["shop"]), arePublished: false)
        #expect(refusal(of: token, by: verifier) == nil)
        let misfit: SignatureAlgorithm = algorithm == "ES384" ? .rs256 : .es384
        #expect(throws: AccessTokenError.self) { try ForeignTokenKey(pem: pem, algorithm: misfit) }
    }

    @Test func `a token needs no key id where the set has a single key`() throws {
        var jwk = try Self.jwk("p256")
        let named = Self.verifier([try ForeignTokenKey(jwk: jwk)])
        jwk["kid"] = nil
        let nameless = Self.verifier([try ForeignTokenKey(jwk: jwk)])
        let token = try #require(Vectors.tokens.first { $0.algorithm == "ES256" }?.token)
        #expect(refusal(of: Vectors.withoutKeyId, by: named) == nil)
        #expect(refusal(of: Vectors.withoutKeyId, by: nameless) == nil)
        #expect(refusal(of: token, by: nameless) == nil)
        #expect(refusal(of: Vectors.withoutKeyId, by: Self.verifier(try Self.keys())) == .keyUnknown)
        #expect(try named.match(of: token) == .certain)
        #expect(try nameless.match(of: token) == .guessed)
        var other = try Self.jwk("p256")
        other["kid"] = "other"
        #expect(try Self.verifier([try ForeignTokenKey(jwk: other)]).match(of: token) == .none)
    }

    @Test func `the issuer is compared by bytes`() throws {
        let keys = try Self.keys()
        let token = Vectors.tokens[0].token
        #expect(refusal(of: token, by: Self.verifier(keys, issuers: ["x", "https://issuer.example"])) == nil)
        for issuers in [
            [], ["https://issuer.example/"], ["HTTPS://issuer.example"], ["https://issuer.examp\u{6C}e\u{301}"],
        ] {
            #expect(refusal(of: token, by: Self.verifier(keys, issuers: issuers)) == .issuerMismatch)
        }
    }
}
