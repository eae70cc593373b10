import DocumentModel
import Testing

@testable import AccessTokens

@Suite struct ForeignTokenTests {
    private typealias Vectors = ForeignTokenVectors

    private static let shop = ForeignTokenVerifier.Audience(["shop"])

    private static func published() throws -> ForeignTokenVerifier {
        let keys = try ForeignTokenKey.keys(jwks: ExtendedJSON.parseDocument(Vectors.jwks))
        return ForeignTokenVerifier(keys: keys, audience: shop, arePublished: true)
    }

    private static func byHand(
        _ keys: ForeignTokenKey..., audience: ForeignTokenVerifier.Audience = shop
    ) -> ForeignTokenVerifier {
        ForeignTokenVerifier(keys: keys, audience: audience, arePublished: false)
    }

    private static func secret() throws -> ForeignTokenKey { try ForeignTokenKey(sharedSecret: Vectors.secret) }

    private func refusal(of token: String, by verifier: ForeignTokenVerifier) -> AccessTokenError.Code? {
        do throws(AccessTokenError) {
            _ = try verifier.verify(token, now: Vectors.now)
            return nil
        } catch {
            return error.code
        }
    }

    @Test func `tokens of an issuer's published keys give back their claims`() throws {
        let verifier = try Self.published()
        for token in [Vectors.rs256, Vectors.es256] {
            let claims = try verifier.verify(token, now: Vectors.now)
            #expect(claims["sub"] == "u-1")
            #expect(claims["name"]?["full"] == "Ada")
        }
    }

    @Test func `a published set's symmetric, foreign and encryption keys are skipped`() throws {
        let keys = try ForeignTokenKey.keys(jwks: ExtendedJSON.parseDocument(Vectors.jwks))
        #expect(keys.map(\.id) == ["rsa-1", "ec-1", "ed-1"])
        #expect(refusal(of: Vectors.published, by: try Self.published()) == .keyUnknown)
        #expect(throws: AccessTokenError.self) { try ForeignTokenKey.keys(jwks: ["issuer": "x"]) }
    }

    @Test(
        arguments: [
            (["verify"], true), (["sign", "verify"], true), (nil, true), (["sign"], false), ([], false),
            (["verify", "verify"], false), (["encrypt"], false), (["verify", "encrypt"], false),
            (["verify", 1], false), ("verify", false),
        ] as [(Value?, Bool)])
    func `a key that isn't for verifying is refused`(operations: Value?, isGood: Bool) throws {
        let set = try ExtendedJSON.parseDocument(Vectors.jwks)
        let named = set["keys"]?.arrayValue?.compactMap(\.documentValue) ?? []
        for id in ["rsa-1", "ec-1"] {
            var jwk = try #require(named.first { $0["kid"] == .string(id) })
            jwk["use"] = nil
            jwk["key_ops"] = operations
            let outcome = Result { try ForeignTokenKey(jwk: jwk) }
            let isTaken = (try? outcome.get()) != nil
            #expect(isTaken == isGood, "\(id): \(outcome)")
            jwk["key_ops"] = nil
            for use: Value in ["enc", "", 1] {
                jwk["use"] = use
                #expect(throws: AccessTokenError.self) { try ForeignTokenKey(jwk: jwk) }
            }
        }
    }

    @Test func `a set of our own keys is read by the same rule`() throws {
        var jwk = try TokenFixture().key.publicKey.jwk
        jwk["key_ops"] = ["verify"]
        #expect(try TokenKeySet(jwks: ["keys": [.document(jwk)]]).keys.count == 1)
        jwk["key_ops"] = ["sign"]
        #expect(try TokenKeySet(jwks: ["keys": [.document(jwk)]]).keys.isEmpty)
    }

    @Test func `a key given by hand needs no id`() throws {
        let pem = try ForeignTokenKey(pem: Vectors.rsaPEM)
        #expect(pem == (try ForeignTokenKey(pem: Vectors.rsaPKCS1)))
        #expect(refusal(of: Vectors.rs256WithoutKeyId, by: Self.byHand(pem)) == nil)
        #expect(refusal(of: Vectors.rs256, by: Self.byHand(pem)) == nil)
        #expect(refusal(of: Vectors.hs256, by: Self.byHand(try Self.secret())) == nil)
        #expect(refusal(of: Vectors.rs256WithoutKeyId, by: try Self.published()) == .keyUnknown)
    }

    @Test func `several keys given by hand are tried in turn`() throws {
        let other = try ForeignTokenKey(sharedSecret: String(repeating: "another secret ", count: 3))
        #expect(refusal(of: Vectors.hs256, by: Self.byHand(other, try Self.secret())) == nil)
        #expect(refusal(of: Vectors.hs256, by: Self.byHand(other)) == .signatureInvalid)
        #expect(refusal(of: Vectors.hs256, by: Self.byHand()) == .keyUnknown)
    }

    @Test func `the algorithm is the key's, whatever the header says`() throws {
        let pem = try ForeignTokenKey(pem: Vectors.rsaPEM)
        // The classic attack: the public key, which is known, used as an HMAC secret.
        #expect(refusal(of: Vectors.confused, by: Self.byHand(pem)) == .algorithmRefused)
        #expect(refusal(of: Vectors.confused, by: try Self.published()) == .algorithmRefused)
        #expect(refusal(of: Vectors.unsigned, by: try Self.published()) == .algorithmRefused)
        #expect(refusal(of: Vectors.rs384, by: try Self.published()) == .algorithmRefused)
        #expect(refusal(of: Vectors.hs256, by: Self.byHand(pem)) == .algorithmRefused)
    }

    @Test func `a token that was changed after signing is refused`() throws {
        for token in [Vectors.rs256, Vectors.es256] {
            var parts = token.split(separator: ".").map(String.init)
            parts[1] = TokenFixture.base64URL(#"{"sub":"u-2","aud":"shop","exp":1800000300}"#)
            #expect(refusal(of: parts.joined(separator: "."), by: try Self.published()) == .signatureInvalid)
        }
        let short = Vectors.rs256.split(separator: ".").prefix(2).joined(separator: ".") + ".AAAA"
        #expect(refusal(of: short, by: try Self.published()) == .signatureInvalid)
    }

    @Test(arguments: [
        (Vectors.expired, AccessTokenError.Code.expired), (Vectors.early, .notYetValid),
        (Vectors.issuedLater, .notYetValid), (Vectors.endless, .claimInvalid), (Vectors.nobody, .claimInvalid),
        (Vectors.numbered, .claimInvalid), (Vectors.forOther, .audienceMismatch),
        (Vectors.forNobody, .audienceMismatch), (Vectors.fractional, .expired),
    ])
    func `invalid claims are refused`(token: String, code: AccessTokenError.Code) throws {
        #expect(refusal(of: token, by: Self.byHand(try Self.secret())) == code)
    }

    @Test func `a token is meant for all of the audiences, or for any one of them`() throws {
        func outcome(_ token: String, _ names: [String], any: Bool) throws -> AccessTokenError.Code? {
            refusal(of: token, by: Self.byHand(try Self.secret(), audience: .init(names, isAnyEnough: any)))
        }
        #expect(try outcome(Vectors.forBoth, ["shop", "stock"], any: false) == nil)
        #expect(try outcome(Vectors.hs256, ["shop", "stock"], any: false) == .audienceMismatch)
        #expect(try outcome(Vectors.hs256, ["shop", "stock"], any: true) == nil)
        #expect(try outcome(Vectors.hs256, [], any: false) == .audienceMismatch)
        #expect(try outcome(Vectors.hs256, [], any: true) == .audienceMismatch)
    }

    @Test(arguments: ["", "a.b", "a.b.c", "....", "é.é.é", "A.A.A", "eyJ9.eyJ9.eyJ9"])
    func `a text that isn't a token is refused`(text: String) throws {
        #expect(refusal(of: text, by: try Self.published()) == .malformed)
        #expect(refusal(of: String(repeating: "A", count: 20_000), by: try Self.published()) == .malformed)
    }

    @Test func `weak and damaged keys are refused`() throws {
        for text in [
            Vectors.smallPEM, Vectors.ecPEM, "", "-----BEGIN PUBLIC KEY-----\n-----END PUBLIC KEY-----",
            "-----BEGIN PUBLIC KEY-----\nMIIBIjAN\n-----END PUBLIC KEY-----",
            "-----BEGIN PUBLIC KEY-----\nMIT/////\n-----END PUBLIC KEY-----",
        ] {
            #expect(throws: AccessTokenError.self) { try ForeignTokenKey(pem: text) }
        }
        #expect(throws: AccessTokenError.self) { try ForeignTokenKey(sharedSecret: "short") }
        #expect(throws: AccessTokenError.self) {
            try ForeignTokenKey(jwk: ["kty": "RSA", "kid": "r", "n": "AQAB", "e": "AQAB"])
        }
    }
}
