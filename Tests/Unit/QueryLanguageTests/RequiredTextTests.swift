import DocumentModel
import QueryLanguage
import RegularExpressions
import SyncEngine
import Testing

/// The text that every match of a regular expression contains.
@Suite struct RequiredTextTests {
    @Test(
        arguments: [
            ("harbour", "", "harbour"), ("^harbour$", "", "harbour"), ("har.*bour", "", "bour"), ("a|b", "", nil),
            ("(harbour|port) of", "", " of"), ("colou?r", "", "colo"), ("ab+c", "", "ab"), ("ab*", "", "a"),
            ("[abc]x", "", "x"),
            ("[]a]yz", "", "yz"), ("ab{2,3}cd", "", "cd"), ("ab{x", "", nil), (#"a\.b"#, "", "a.b"),
            (#"\d\dab"#, "", "ab"),
            (#"\x41bc"#, "", nil), ("(?i)abc", "", nil), ("x(?:(?i)abc)", "", nil), ("(?=abc)de", "", "de"),
            ("Grün", "", "Grün"),
            ("Harbour", "i", "harbour"), ("Grün", "i", "gr"), ("bicycle", "i", "bicycle"), ("task", "i", "task"),
            ("SK", "i", "sk"), ("ſ\u{212a}", "i", nil),
            ("a b", "x", nil), ("", "", nil), (".*", "", nil), ("[[:alpha:]]x", "", nil), ("(a", "", nil),
            ("a)", "", nil),
            (#"a\Qb.c\E"#, "", nil), ("a(b[)]c)d", "", "a"),
        ] as [(String, String, String?)])
    func `it is the longest one that stands in the pattern`(pattern: String, options: String, expected: String?) {
        #expect(RequiredText(of: pattern, options: options)?.text == expected, "/\(pattern)/\(options)")
    }

    @Test(arguments: 1...20 as ClosedRange<UInt64>)
    func `no match lacks it`(seed: UInt64) throws {
        var generator = SeededGenerator(seed: seed)
        let parts = [
            "a", "b", "k", "S", "é", "É", "x*", "y+", "z?", ".", "[ab]", "[^c]", "(a|b)", "(?:ab)?", "^", "$", "|",
            #"\."#, #"\w"#,
            "c{2}", "d{0,1}", "ſ", "\u{212a}",
        ]
        let letters = [
            "a", "b", "A", "B", "k", "K", "s", "S", "é", "É", "x", "y", "z", ".", "c", "cc", "d", "ſ", "\u{212a}", " ",
        ]
        func text(_ of: [String], _ count: Int) -> String {
            (0..<count).map { _ in of.randomElement(using: &generator) ?? "" }.joined()
        }
        for _ in 0..<200 {
            let pattern = text(parts, Int.random(in: 1...5, using: &generator))
            let options = Bool.random(using: &generator) ? "i" : ""
            guard let required = RequiredText(of: pattern, options: options),
                let filter = try? Filter(["t": .regex(RegularExpression(pattern, options: options))])
            else { continue }
            for _ in 0..<30 {
                let subject = text(letters, Int.random(in: 0...8, using: &generator))
                guard filter.matches(["t": .string(subject)], now: 0) else { continue }
                let searched = required.ignoresCase ? Self.small(subject) : subject
                #expect(
                    Self.contains(searched, required.text),
                    "/\(pattern)/\(options) matches \(subject), without \(required.text)")
            }
        }
    }

    /// As `partita.small_letters`.
    private static func small(_ text: String) -> String {
        let letters = String(decoding: text.utf8.map { (0x41...0x5a).contains($0) ? $0 | 0x20 : $0 }, as: UTF8.self)
        return letters.replacing("\u{212a}", with: "k").replacing("ſ", with: "s")
    }

    private static func contains(_ text: String, _ part: String) -> Bool {
        let (text, part) = (Array(text.utf8), Array(part.utf8))
        return text.indices.contains { text[$0...].starts(with: part) }
    }
}
