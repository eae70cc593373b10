import DocumentModel
import EventLoop
import RegularExpressions
import SyncEngine
import Testing

/// A long text is searched window by window.
@Suite struct RegexWindowTests {
    @Test(arguments: 1...10 as ClosedRange<UInt64>)
    func `the first match is where it is in a short text`(seed: UInt64) throws {
        var generator = SeededGenerator(seed: seed)
        let parts = [
            "a", "b", "é", "(a|b)", "(?:ab)+", "[ab]*", "c?", "(?=b)", "(?<=a)", "(?i)B", "a{2}", "(a)(b)?", "\\K",
            "c|d", "(?>a*)",
        ]
        let letters = ["a", "b", "c", "d", "é", "B", "aa", "ab"]
        func text(_ of: [String], _ count: Int) -> String {
            (0..<count).map { _ in of.randomElement(using: &generator) ?? "" }.joined()
        }
        var compared = 0
        for _ in 0..<300 {
            let pattern = text(parts, Int.random(in: 1...5, using: &generator))
            // What matches nothing matches at once, between the other characters as well.
            guard let regex = try? RegexEngine.compile(RegularExpression(pattern, options: "")),
                try regex.firstMatch(in: "", from: 0) == nil, try regex.firstMatch(in: "zé", from: 0) == nil
            else { continue }
            let short = text(letters, Int.random(in: 0...20, using: &generator))
            guard short.utf8.count < 60 else { continue }
            let before = String(repeating: "z", count: Int.random(in: 0...600, using: &generator))
            compared += 1
            let expected = try regex.firstMatch(in: short, from: 0)
            let found = try regex.firstMatch(in: before + short + String(repeating: "z", count: 600), from: 0)
            let count = before.utf8.count
            #expect(
                found == expected.map { $0.map { $0.map { $0.lowerBound + count..<$0.upperBound + count } } },
                "/\(pattern)/ in \(short) after \(count)")
        }
        #expect(compared > 50)
    }

    @Test func `every place of a long text can be the beginning of a match`() throws {
        let regex = try RegexEngine.compile(RegularExpression("ax|é$", options: ""))
        for count in 0..<400 {
            let before = String(repeating: "é", count: count)
            let found = try regex.firstMatch(in: before + "ax" + String(repeating: "a", count: 100), from: 0)
            #expect(found?.first == .some(.some(2 * count..<2 * count + 2)))
        }
        let end = try regex.firstMatch(in: String(repeating: "é", count: 5000), from: 10)
        #expect(end?.first == .some(.some(9998..<10_000)))
        let empty = try RegexEngine.compile(RegularExpression("$", options: ""))
        #expect(
            try empty.firstMatch(in: String(repeating: "a", count: 3000), from: 0)?.first == .some(.some(3000..<3000)))
    }

    @Test(arguments: [
        (#"\Ga"#, true), (#"\\Ga"#, false), (#"a\\\G"#, true), ("G", false),
        ("a(*SKIP)b", true), ("(*UTF)a", true), ("(*:a)b", true), (#"\(*A"#, false), ("[(*A]", false),
        ("[](*A]", false), ("(*pla:a)", false),
    ])
    func `what concerns a whole search is refused`(_ pattern: String, _ isRefused: Bool) {
        #expect(((try? RegexEngine.compile(RegularExpression(pattern, options: ""))) == nil) == isRefused)
    }

    @Test func `a search can be interrupted`() throws {
        let regex = try RegexEngine.compile(RegularExpression("(?=.*[cd]).", options: ""))
        let looks = Locked(0)
        let interruption = Interruption {
            looks.withLock { $0 += 1 }
            return QueryError(code: 50, message: "enough")
        }
        let error = #expect(throws: QueryError.self) {
            try Interruption.$current.withValue(interruption) {
                _ = try regex.firstMatch(in: String(repeating: "a", count: 1_000_000), from: 0)
            }
        }
        #expect(error?.code == 50 && looks.withLock { $0 } == 1)
    }
}
