import DocumentModel
import Testing

/// Texts that are equal by Unicode, but differ in their bytes.
@Suite struct ExactTextTests {
    /// The same letter with its accent in one scalar and in two; a sign and the letter that it decomposes to.
    static let pairs = [
        ("caf\u{e9}", "cafe\u{301}"), ("\u{212a}ey", "Key"), ("\u{2126}", "\u{3a9}"), ("\u{1fef}", "`"),
    ]

    @Test(arguments: pairs)
    func `texts that only look alike are two keys`(_ a: String, _ b: String) {
        #expect(a == b, "Swift's strings are equal, or this test says nothing")
        #expect(!a.hasSameBytes(as: b) && a.hasSameBytes(as: a))
        #expect(ExactText(a) != ExactText(b) && ExactText(a) == ExactText(a))
        #expect((ExactText(a) < ExactText(b)) != (ExactText(b) < ExactText(a)))
        var values: [ExactText: Int] = [ExactText(a): 1]
        values[b, default: 5] += 1
        values[a]? += 10
        #expect(values == [ExactText(a): 11, ExactText(b): 6])
        #expect(values.removeValue(forText: b) == 6 && values[b] == nil && values[a] == 11)
        var texts = Set(texts: [a])
        #expect(!texts.contains(b) && texts.insert(b) && !texts.insert(a) && texts.count == 2)
        texts.remove(a)
        #expect(texts.texts.count == 1 && texts.texts[0].hasSameBytes(as: b))
        #expect(![a].containsExactly(b) && [b, a].containsExactly(a))
    }

    @Test(arguments: pairs)
    func `a text is found by its bytes`(_ a: String, _ b: String) {
        #expect("x\(a)y".containsBytes(of: a) && !"x\(a)y".containsBytes(of: b))
        #expect("x\(a)y".dropFirst().containsBytes(of: a[...]) && !"\(a)y".dropLast().containsBytes(of: a + "y"))
        #expect(a.containsBytes(of: "") && "".containsBytes(of: "") && !"".containsBytes(of: a))
    }

    @Test(arguments: pairs)
    func `values made of different texts are different`(_ a: String, _ b: String) throws {
        func differ<T: Hashable>(_ make: (String) -> T) {
            #expect(make(a) != make(b) && make(a) == make(a), "\(T.self)")
            #expect(Set([make(a), make(b), make(a)]).count == 2, "\(T.self)")
        }
        differ { Partition(text: $0) }
        differ { ChangeEvent.Namespace(database: $0, collection: "c") }
        differ { ChangeEvent.Namespace(database: "d", collection: $0) }
        differ { ChangeEvent.Origin(user: $0, device: "d", version: 1) }
        differ { ChangeEvent.Origin(user: "u", device: $0, version: 1) }
        differ { Path($0) }
        differ { Path("x.\($0)") }
        differ { Value.string($0) }
        differ { Value.symbol($0) }
        differ { Value.code(Code($0)) }
        differ { Document(fields: [.init($0, 1)]) }
        differ { RegularExpression($0) }
        differ { RegularExpression("a", options: $0) }
        differ { DBPointer(namespace: $0, id: ObjectId(high: 0, low: 0)) }
        // A document has both.
        let document = try ExtendedJSON.parseDocument(#"{"\#(a)": 1, "\#(b)": 2}"#)
        #expect(document.count == 2 && document[a] == 1 && document[b] == 2)
        #expect(try BSON.decode(BSON.encode(document)).isIdentical(to: document))
        var changed = document
        changed[b] = nil
        #expect(changed.count == 1 && changed[a] == 1)
    }

    /// A combining mark forms one character with what precedes it.
    @Test func `a text that begins with a combining mark is a key like any other`() throws {
        let mark = "\u{301}x"
        let key = try #require(Value.string(mark).keyText)
        #expect(Value(keyText: key) == .string(mark) && Value(idText: key) == .string(mark))
        #expect(Partition(text: key).value == .string(mark) && !Partition(text: key).isInternal)
        #expect(Partition(text: "i:\(mark)").isInternal)
        #expect(Path("a.\(mark).b").components.map(\.name).count == 3)
        #expect("a/\(mark)/b".splitAtBytes("/", maxSplits: 1).count == 2)
        #expect("$\(mark)".startsWithBytes(of: "$") && !"a".startsWithBytes(of: "ab"))
        let document: Document = ["a": ["\u{301}x": 7]]
        #expect(document.value(at: Path("a.\(mark)")) == 7)
    }
}
