import AccessTokens
import DocumentModel
import Foundation
import Testing

@Suite struct TokenTests {
    @Test func `a signed token gives back its claims`() throws {
        let fixture = try TokenFixture()
        var claims = TokenFixture.claims()
        claims.data = ["email": "a@example.org"]
        claims.customData = ["age": .int32(7), "big": .int64(7), "seen": .date(1_700_000_000_000)]
        claims.identities = [["id": "65a000000000000000000004", "provider_type": "local-userpass"]]
        let verified = try fixture.verifier.verify(try fixture.key.sign(claims), app: "rchat", now: TokenFixture.now)
        #expect(verified.user == claims.user && verified.session == claims.session && verified.device == claims.device)
        #expect(verified.data == claims.data)
        #expect(verified.identities == claims.identities)
        let custom = try #require(verified.customData)
        #expect(custom.isIdentical(to: claims.customData ?? Document()))
    }

    @Test func `the payload has what the SDKs read, with plain integers for times`() throws {
        let fixture = try TokenFixture()
        let token = try fixture.key.sign(TokenFixture.claims())
        let payload = try TokenFixture.payload(of: token)
        #expect(payload["iss"] == "65a000000000000000000001")
        #expect(payload["stitch_devId"] == "65a000000000000000000003")
        #expect(payload["stitch_domainId"] == "rchat")
        #expect(payload["typ"] == "access")
        #expect(payload["exp"]?.int64Value == TokenFixture.now + 1800)
        let text = ExtendedJSON.print(.document(payload), mode: .relaxed)
        #expect(text.contains("\"exp\":\(TokenFixture.now + 1800)"))
        #expect(token.split(separator: ".").count == 3)
    }

    @Test func `a token is refused from the second of its expiry on`() throws {
        let fixture = try TokenFixture()
        let token = try fixture.key.sign(TokenFixture.claims(lifetime: 10))
        #expect(fixture.refusal(of: token, now: TokenFixture.now + 9) == nil)
        #expect(fixture.refusal(of: token, now: TokenFixture.now + 10) == .expired)
    }

    @Test func `a token from the future is refused beyond a minute's leeway`() throws {
        let fixture = try TokenFixture()
        let token = try fixture.key.sign(TokenFixture.claims(issuedAt: TokenFixture.now + 61))
        #expect(fixture.refusal(of: token) == .notYetValid)
        #expect(fixture.refusal(of: token, now: TokenFixture.now + 1) == nil)
    }

    @Test func `a token is valid for its own type and app only`() throws {
        let fixture = try TokenFixture()
        let refresh = try fixture.key.sign(TokenFixture.claims(type: .refresh))
        #expect(fixture.refusal(of: refresh) == .typeMismatch)
        #expect(fixture.refusal(of: refresh, as: .refresh) == nil)
        let access = try fixture.key.sign(TokenFixture.claims())
        #expect(fixture.refusal(of: access, as: .refresh) == .typeMismatch)
        #expect(fixture.refusal(of: access, app: "other") == .appMismatch)
    }

    @Test(arguments: [
        "{\"alg\":\"none\",\"kid\":\"key-1\"}", "{\"alg\":\"HS256\",\"kid\":\"key-1\"}",
        "{\"alg\":\"ES384\",\"kid\":\"key-1\"}",
        "{\"alg\":\"RS256\",\"kid\":\"key-1\"}", "{\"kid\":\"key-1\"}",
    ])
    func `a header with another algorithm than the key's is refused`(header: String) throws {
        let fixture = try TokenFixture()
        let token = try fixture.key.sign(TokenFixture.claims())
        #expect(fixture.refusal(of: TokenFixture.forged(header: header, from: token)) == .algorithmRefused)
    }

    @Test func `critical extensions and unknown keys are refused`() throws {
        let fixture = try TokenFixture()
        let token = try fixture.key.sign(TokenFixture.claims())
        let critical = "{\"alg\":\"ES256\",\"kid\":\"key-1\",\"crit\":[\"exp\"]}"
        #expect(fixture.refusal(of: TokenFixture.forged(header: critical, from: token)) == .headerRefused)
        let stranger = try TokenFixture(id: "key-2")
        #expect(fixture.refusal(of: try stranger.key.sign(TokenFixture.claims())) == .keyUnknown)
        #expect(fixture.refusal(of: TokenFixture.forged(header: "{\"alg\":\"ES256\"}", from: token)) == .keyUnknown)
    }

    @Test func `another key under the same id doesn't verify`() throws {
        let fixture = try TokenFixture()
        let impostor = try TokenFixture()
        #expect(fixture.refusal(of: try impostor.key.sign(TokenFixture.claims())) == .signatureInvalid)
    }

    @Test func `changed claims and changed signatures don't verify`() throws {
        let fixture = try TokenFixture()
        let token = try fixture.key.sign(TokenFixture.claims())
        let parts = token.split(separator: ".").map(String.init)
        let other = try fixture.key.sign(TokenFixture.claims(app: "other")).split(separator: ".").map(String.init)
        #expect(fixture.refusal(of: [parts[0], other[1], parts[2]].joined(separator: ".")) == .signatureInvalid)
        #expect(fixture.refusal(of: [parts[0], parts[1], other[2]].joined(separator: ".")) == .signatureInvalid)
        let zeros = String(repeating: "A", count: 86)
        #expect(fixture.refusal(of: [parts[0], parts[1], zeros].joined(separator: ".")) != nil)
        #expect(fixture.refusal(of: [parts[0], parts[1], String(parts[2].dropLast(10))].joined(separator: ".")) != nil)
    }

    @Test(arguments: [
        "", ".", "..", "a.b", "a.b.c", "a.b.c.d", "e30.e30.e30", "{}.{}.{}", "\u{0}.\u{0}.\u{0}", "ü.ü.ü",
    ])
    func `a text that isn't a token is malformed or refused, and never crashes`(text: String) throws {
        #expect(try TokenFixture().refusal(of: text) != nil)
    }

    /// cjose ends the process on such a text, so it must never get one.
    @Test func `invalid base64 is refused in each of the three parts`() throws {
        let fixture = try TokenFixture()
        let parts = try fixture.key.sign(TokenFixture.claims()).split(separator: ".").map(String.init)
        for index in parts.indices {
            for damage in ["A", "AAAAA", "=", "A===", "", "AA=", "a+b/", "A.", parts[index] + "A", parts[index] + "=="]
            {
                var damaged = parts
                damaged[index] = damage
                #expect(fixture.refusal(of: damaged.joined(separator: ".")) != nil)
            }
            for length in 1..<parts[index].utf8.count {
                var damaged = parts
                damaged[index] = String(parts[index].prefix(length))
                #expect(fixture.refusal(of: damaged.joined(separator: ".")) != nil)
            }
        }
    }

    @Test func `an oversized token is refused before it is read`() throws {
        let fixture = try TokenFixture()
        let token = try fixture.key.sign(TokenFixture.claims())
        #expect(fixture.refusal(of: token + String(repeating: "A", count: 20_000)) == .malformed)
    }

    @Test func `random damage is always refused`() throws {
        let fixture = try TokenFixture()
        let token = Array(try fixture.key.sign(TokenFixture.claims()).utf8)
        var random = SystemRandomNumberGenerator()
        for _ in 0..<3000 {
            var damaged = token
            let place = Int.random(in: 0..<damaged.count, using: &random)
            let byte = UInt8.random(in: 33..<127, using: &random)
            guard byte != damaged[place] else { continue }
            damaged[place] = byte
            #expect(fixture.refusal(of: String(decoding: damaged, as: UTF8.self)) != nil)
        }
    }
}
