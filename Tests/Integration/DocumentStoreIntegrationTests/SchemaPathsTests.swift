import DocumentModel
import DocumentSchema
import Postgres
import RegularExpressions
import SyncEngine
import TestSupport
import Testing
import Vectors

/// Writes by SQL are validated like writes by the library.
struct SchemaPathsTests {
    private let collection = ChangeEvent.Namespace(database: "RChat", collection: "ChatMessage")

    @Test func `Postgres reports the same about each document as the library, in the same words`() async throws {
        try await StoreFixture.with { fixture in
            var checked = 0, refused = 0
            for vector in try SchemaVector.all() {
                let schema = try DocumentSchema(vector.schema, dialect: .collection)
                #expect(schema.patternsBeyondPostgres.isEmpty)
                let form = print(schema.postgresForm)
                for one in vector.cases {
                    let said: String? = try await fixture.client.query(
                        "select partita.schema_violation(partita.hide_nul($1), $2, '')",
                        [.text(print(one.document)), .json(form)]
                    ).first?.decode(0)
                    let expected = try schema.violations(in: .document(one.document), limit: 1).first?.description
                    #expect(said == expected, "\(print(one.document)) by \(print(vector.schema))")
                    #expect((said == nil) == one.isAcceptedByCollection)
                    checked += 1
                    refused += said == nil ? 0 : 1
                }
            }
            #expect(checked == 3000 && refused > 1000)
        }
    }

    @Test func `a regular expression matches in Postgres what it matches here, or isn't translated`() async throws {
        try await StoreFixture.with { fixture in
            var random = SeededGenerator(seed: 11)
            let pieces = [
                "a", "b", "é", "日", "1", "_", "-", " ", "\\.", "\\-", ".", "^", "$", "\\d", "\\D", "\\w", "\\W", "\\s",
                "\\S", "\\b", "\\B", "\\A", "\\z", "\\Z", "\\n", "\\t", "\\x41", "\\x{65e5}", "[ab]", "[^a]", "[a-c1]",
                "[]a]", "[^]]", "[a\\]]", "[\\d_]", "[\\w-]", "[[:alpha:]]", "[-a]", "[a-]", "(a|b)", "(?:ab)",
                "(?<n>a)",
                "(?=a)", "(?!b)", "(?<=a)", "(?<!a)", "|", "()", "{", "}", "]", "#", "\\\\", "/", "\\/", "é\u{301}",
                "\\p{L}", "\\1", "(?i)a", "(?>a)",
            ]
            let quantifiers = [
                "", "", "", "", "*", "+", "?", "{2}", "{0,2}", "{1,}", "*?", "+?", "{1,2}?", "++", "{,2}",
            ]
            let texts = [
                "", "a", "b", "ab", "ba", "aab", "abab", "é", "e\u{301}", "日", "日本", "A", "1", "a1_", "a b", "a-b",
                "\n", "a\n", "\na",
                "a\nb", "a.b", "\t", "]", "a]", "{2}", "a{", "\\", "#", "/", "-", " ", "aa", "11",
            ]
            var translated = 0, untranslated = 0
            while translated < 1500 {
                let pattern = (0..<Int.random(in: 1...4, using: &random)).map { _ in
                    pieces.randomElement(using: &random)! + quantifiers.randomElement(using: &random)!
                }.joined()
                guard let compiled = try? RegexEngine.compile(RegularExpression(pattern)) else { continue }
                guard let translation = PostgresPattern.translating(pattern) else {
                    untranslated += 1
                    continue
                }
                translated += 1
                let rows: [Bool] = try await fixture.client.query(
                    "select t ~ $1 from unnest($2::text[]) with ordinality u(t, n) order by n",
                    [.text(translation), .textArray(texts)]
                ).decode(Bool.self)
                for (text, found) in zip(texts, rows) {
                    #expect(
                        try compiled.matches(text) == found, "\(pattern) as \(translation) on \(text.debugDescription)")
                }
            }
            #expect(untranslated > 100)
        }
    }

    @Test func `what Postgres can't compare is refused by name, and only that`() async throws {
        try await StoreFixture.with { fixture in
            let schema = try DocumentSchema(
                ["properties": ["name": ["pattern": #"^\p{L}+$"#], "n": ["bsonType": "int"]]], dialect: .collection)
            try await fixture.store.setSchemas([collection: schema], app: StoreFixture.app)
            try await insert(#"{"_id": "a", "partition": "p", "n": 5}"#, fixture)
            let error = await #expect(throws: PostgresError.self) {
                try await insert(#"{"_id": "b", "partition": "p", "name": "Zoë"}"#, fixture)
            }
            #expect(
                error?.message
                    == #"name: can't be compared with the pattern ^\p{L}+$ by Postgres; write it by a client or a function"#
            )
            // The form that an older version stored isn't mistaken for the current one.
            try await fixture.client.execute("update partita.schemas set schema = '{\"bsonType\": \"object\"}'")
            let old = await #expect(throws: PostgresError.self) {
                try await insert(#"{"_id": "c", "partition": "p"}"#, fixture)
            }
            #expect(old?.message.contains("run partita app deploy again") == true)
        }
    }

    @Test func `SQL handles U+0000 in a schema, and large documents`() async throws {
        try await StoreFixture.with { fixture in
            let schema = try DocumentSchema(
                ["properties": ["o": ["enum": ["a\u{0}", "x"]], "list": ["items": ["bsonType": "int"]]]],
                dialect: .collection)
            try await fixture.store.setSchemas([collection: schema], app: StoreFixture.app)
            try await insert(#"{"_id": "a", "partition": "p", "n": 5}"#, fixture)
            try await insert(#"{"_id": "b", "partition": "p", "o": "x"}"#, fixture)
            try await fixture.client.execute(
                "insert into \(fixture.table) (body) values ($1)",
                [.text(#"{"_id":"c","partition":"p","o":"a\u0000"}"#)])
            let error = await #expect(throws: PostgresError.self) {
                try await insert(#"{"_id": "d", "partition": "p", "o": "y"}"#, fixture)
            }
            #expect(error?.message == "o: isn't one of the allowed values")
            // Reading the whole document for each element took 9 s for 10,000 elements, and grew with the square.
            let elements = (0..<40_000).map { Value.int32($0) }
            let names = (0..<20_000).map { Document.Field("k\($0)", .string($0 == 0 ? "\u{0}" : "x")) }
            for document in [["list": .array(elements)], Document(fields: names)] {
                let said: String? = try await fixture.client.query(
                    "select partita.schema_violation(partita.hide_nul($1), $2, '')",
                    [.text(print(document)), .json(print(schema.postgresForm).replacing(#"\u0000"#, with: "0"))]
                ).first?.decode(0)
                #expect(said == nil)
            }
        }
    }

    @Test(arguments: ["^(a{1,255}){1,255}$", "((((a{1,10}){1,10}){1,10}){1,10}){1,10}"])
    func `a schema that is too complex for Postgres isn't translated`(_ pattern: String) async throws {
        #expect(PostgresPattern.translating(pattern) == nil)
        let simple = try #require(PostgresPattern.translating("^((?:ab{2,9}){1,70}[a-z]){1,5}$"))
        let largest = try #require(PostgresPattern.translating("(a{1,70}){1,70}"))
        try await StoreFixture.with { fixture in
            for translation in [simple, largest] {
                _ = try await fixture.client.query("select 'a' ~ $1", [.text(translation)])
            }
        }
    }

    private func insert(_ document: String, _ fixture: StoreFixture) async throws {
        try await fixture.client.execute("insert into \(fixture.table) (document) values ($1)", [.text(document)])
    }

    private func print(_ document: Document) -> String { ExtendedJSON.print(.document(document), mode: .canonical) }
}
