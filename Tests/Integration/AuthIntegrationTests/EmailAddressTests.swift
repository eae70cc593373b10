import Testing

@testable import Auth

@Suite struct EmailAddressTests {
    @Test(arguments: [
        "a@b", "ada@example.org", "ada+lists@example.org", "ada.o'hara@example.co.uk", "ådå@exämple.org",
        "a..b@example.org", String(repeating: "a", count: 64) + "@example.org",
    ])
    func `an address is taken`(email: String) { #expect(EmailAddress.problem(with: email) == nil) }

    @Test(arguments: [
        "", "a", "@", "a@", "@b.org", "a@b.org,z@z.org", "a@b.org;z@z.org", "a@b@c.org", "a b@c.org", " a@b.org",
        "a@b.org ",
        "a@b.org\n", "a@b.org\r\nBcc: z@z.org", "a\u{0}@b.org", "a\u{85}@b.org", "a\u{200B}@b.org", "a\u{A0}@b.org",
        "a\u{2028}@b.org", "Ada <a@b.org>", "\"a\"@b.org", "a@[127.0.0.1]", "a@b..org", "a@.org", "a@b.org.",
        String(repeating: "a", count: 65) + "@b.org", "a@" + String(repeating: "b", count: 64) + ".org",
        "a@" + String(repeating: "b.", count: 130) + "org",
    ])
    func `an odd address is refused`(email: String) async throws {
        #expect(EmailAddress.problem(with: email) != nil)
        guard !email.unicodeScalars.contains("\u{0}") else { return }
        let answer = try await AuthFixture.shared().app().register(email)
        #expect(answer.status == 400 && answer.code == "InvalidParameter", "\(answer.json)")
    }
}
