import AccessTokens
import DocumentModel
import Testing

@Suite struct KeyTests {
    @Test func `a stored key signs what the original's public key verifies`() throws {
        let fixture = try TokenFixture()
        let restored = try TokenSigningKey(privateJWK: try fixture.key.privateJWK())
        #expect(restored.id == fixture.key.id)
        #expect(restored.publicKey == fixture.key.publicKey)
        #expect(fixture.refusal(of: try restored.sign(TokenFixture.claims())) == nil)
    }

    @Test(arguments: ["A", "AAAAA", "", "!", "AAAA=", String(repeating: "A", count: 44)])
    func `a key with a damaged member is refused`(text: String) throws {
        let secret = try ExtendedJSON.parseDocument(try TokenFixture().key.privateJWK())
        for member in ["d", "x", "y"] {
            var damaged = secret
            damaged[member] = .string(text)
            #expect(throws: AccessTokenError.self) {
                try TokenSigningKey(privateJWK: ExtendedJSON.print(.document(damaged)))
            }
        }
    }

    @Test func `a published key has no secret part`() throws {
        let fixture = try TokenFixture()
        let text = ExtendedJSON.print(.document(TokenKeySet([fixture.key.publicKey]).jwks), mode: .relaxed)
        #expect(!text.contains("\"d\""))
        let secret = try ExtendedJSON.parseDocument(try fixture.key.privateJWK())
        #expect(secret["d"] != nil)
        #expect(try TokenPublicKey(jwk: secret).jwk["d"] == nil)
    }

    @Test func `a key set survives publication, and skips keys of other kinds`() throws {
        let fixture = try TokenFixture()
        var document = TokenKeySet([fixture.key.publicKey]).jwks
        document["keys"] = .array(
            (document["keys"]?.arrayValue ?? []) + [["kty": "RSA", "kid": "r", "n": "AQAB", "e": "AQAB"]])
        #expect(try TokenKeySet(jwks: document).keys == [fixture.key.publicKey])
        #expect(throws: AccessTokenError.self) { try TokenKeySet(jwks: ["key": 1]) }
    }

    @Test func `a key whose point isn't on the curve is refused, and the old ones stay`() throws {
        let fixture = try TokenFixture()
        var document = fixture.key.publicKey.jwk
        document["x"] = document["y"]
        let bad = try TokenPublicKey(jwk: document)
        #expect(throws: AccessTokenError.self) { try fixture.verifier.replaceKeys(TokenKeySet([bad])) }
        #expect(fixture.refusal(of: try fixture.key.sign(TokenFixture.claims())) == nil)
    }

    @Test func `a rotation accepts both keys' tokens, until the old one is removed`() throws {
        let fixture = try TokenFixture()
        let newKey = try TokenSigningKey(generatingWithId: "key-2")
        let old = try fixture.key.sign(TokenFixture.claims())
        try fixture.verifier.add(newKey.publicKey)
        #expect(fixture.refusal(of: old) == nil)
        #expect(fixture.refusal(of: try newKey.sign(TokenFixture.claims())) == nil)
        fixture.verifier.removeKey(id: "key-1")
        #expect(fixture.refusal(of: old) == .keyUnknown)
    }

    @Test func `many tasks verify at once while keys are replaced`() async throws {
        let fixture = try TokenFixture()
        let token = try fixture.key.sign(TokenFixture.claims())
        let verifier = fixture.verifier
        try await withThrowingTaskGroup(of: Void.self) { group in
            for _ in 0..<8 {
                group.addTask {
                    for _ in 0..<50 { _ = try verifier.verify(token, app: "rchat", now: TokenFixture.now) }
                }
            }
            let keys = verifier.keys
            for _ in 0..<20 { try verifier.replaceKeys(keys) }
            try await group.waitForAll()
        }
    }

    @Test(arguments: [
        Document(), ["kty": "RSA", "kid": "1"], ["kty": "EC", "crv": "P-384", "kid": "1", "x": "AA", "y": "AA"],
        ["kty": "EC", "crv": "P-256", "kid": "1", "x": "AA", "y": "AA"],
    ])
    func `a key that isn't P-256 is refused`(jwk: Document) {
        #expect(throws: AccessTokenError.self) { try TokenPublicKey(jwk: jwk) }
        #expect(throws: AccessTokenError.self) { try TokenSigningKey(privateJWK: ExtendedJSON.print(.document(jwk))) }
    }
}
