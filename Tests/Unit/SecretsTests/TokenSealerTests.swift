import Secrets
import Testing

@Suite struct TokenSealerTests {
    @Test func `a token opens with a key of the ring and for its purpose only`() {
        let bytes: [UInt8] = [1, 2, 3]
        let token = TokenSealer(KeyRing(["one"]), purpose: "a").seal(bytes)
        #expect(TokenSealer(KeyRing(["one"]), purpose: "a").open(token) == bytes)
        #expect(TokenSealer(KeyRing(["two", "one"]), purpose: "a").open(token) == bytes)
        #expect(TokenSealer(KeyRing(["two"]), purpose: "a").open(token) == nil)
        #expect(TokenSealer(KeyRing(["one"]), purpose: "b").open(token) == nil)
        #expect(TokenSealer(KeyRing(["one"]), purpose: "a").seal(bytes) != token)
    }

    @Test func `without keys, a sealer opens its own tokens only`() {
        let sealer = TokenSealer(.empty, purpose: "a")
        let token = sealer.seal([7])
        #expect(sealer.open(token) == [7])
        #expect(TokenSealer(.empty, purpose: "a").open(token) == nil)
    }

    @Test(arguments: ["", "!", "AAAA", "not a token"])
    func `what isn't a token doesn't open`(text: String) {
        #expect(TokenSealer(KeyRing(["one"]), purpose: "a").open(text) == nil)
    }

    @Test func `a stored secret is no token`() throws {
        let ring = KeyRing(["one"])
        let stored = try #require(try ring.seal("text").split(separator: ":").last)
        #expect(TokenSealer(ring, purpose: "a").open(String(stored)) == nil)
    }
}
