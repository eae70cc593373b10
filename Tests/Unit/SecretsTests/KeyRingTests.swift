import Secrets
import Testing

@Suite struct KeyRingTests {
    @Test func `a sealed value opens with its own secret only, and reveals nothing`() throws {
        let ring = KeyRing(["one"])
        let sealed = try ring.seal("the key ü")
        #expect(!sealed.contains("the key"))
        #expect(try ring.open(sealed) == "the key ü")
        #expect(try ring.seal("the key ü") != sealed)
        #expect(#expect(throws: KeyRingError.self) { try KeyRing(["two"]).open(sealed) }?.code == .keyUnknown)
        #expect(#expect(throws: KeyRingError.self) { try KeyRing.empty.open(sealed) }?.code == .keyUnknown)
        #expect(#expect(throws: KeyRingError.self) { try KeyRing.empty.seal("a") }?.code == .noKey)
    }

    @Test func `a former key still opens, and the current one seals`() throws {
        let old = try KeyRing(["old"]).seal("text")
        let ring = KeyRing(["new", "old"])
        #expect(try ring.open(old) == "text")
        #expect(!ring.isCurrent(old))
        let new = try ring.seal("text")
        #expect(ring.isCurrent(new))
        #expect(try KeyRing(["new"]).open(new) == "text")
        #expect(throws: KeyRingError.self) { try KeyRing(["old"]).open(new) }
    }

    @Test func `values stored before keys had names open, as does plain text, and neither is current`() throws {
        let former = "secretbox.v1:AAECAwQFBgcICQoLDA0ODxAREhMUFRYXT2pkrqmZnssf2VUXzS1KpBP82VE/JyQ="
        #expect(try KeyRing(["two", "one"]).open(former) == "the key")
        #expect(throws: KeyRingError.self) { try KeyRing(["two"]).open(former) }
        #expect(!KeyRing(["one"]).isCurrent(former))
        #expect(try KeyRing.empty.open("plain") == "plain")
        #expect(!KeyRing(["one"]).isCurrent("plain"))
    }

    @Test(arguments: ["secretbox.v2:", "secretbox.v2:abc", "secretbox.v1:%%", "secretbox.v1:"])
    func `a changed value is refused`(_ text: String) throws {
        #expect(throws: KeyRingError.self) { try KeyRing(["one"]).open(text) }
    }

    @Test func `a change of any byte is noticed`() throws {
        let ring = KeyRing(["one"])
        let sealed = try ring.seal("text")
        let start = try #require(sealed.lastIndex(of: ":"))
        for index in sealed.indices where index > start && sealed[index] != "=" {
            var changed = Array(sealed)
            let place = sealed.distance(from: sealed.startIndex, to: index)
            changed[place] = changed[place] == "A" ? "B" : "A"
            // The last digit of Base64 may hold bits that mean nothing.
            if let text = try? ring.open(String(changed)) { #expect(text == "text" && place >= sealed.count - 2) }
        }
    }

    @Test func `a missing key is named, with what to do`() throws {
        let stored = try KeyRing(["old"]).seal("a")
        let uses = [KeyRing.KeyUse(stored): 3]
        #expect(KeyRing(["new", "old"]).problem(with: uses) == nil)
        #expect(KeyRing(["new"]).problem(with: uses)?.contains(KeyRing(["old"]).ids[0]) == true)
        #expect(KeyRing.empty.problem(with: [.plain: 1])?.contains("must be set") == true)
        #expect(KeyRing.empty.problem(with: [:]) == nil)
        #expect(KeyRing(["new"]).problem(with: [.plain: 5]) == nil)
    }

    @Test func `names distinguish keys, and repetitions and empty secrets are ignored`() {
        #expect(KeyRing(["a", "", "b", "a"]).ids.count == 2)
        #expect(Set(KeyRing(["a", "b"]).ids).count == 2)
        #expect(KeyRing(["a"]).ids == KeyRing(["a"]).ids)
        #expect(KeyRing([""]).isEmpty)
    }
}
