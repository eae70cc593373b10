import DocumentModel
import DocumentStore
import Postgres
import SyncEngine
import Testing

/// External writers that change many rows at once.
struct ExternalBulkTests {
    let partition = Partition.conversation("1")

    /// The statistics of the table of pending changes are those of another transaction; a plan for what they promise must not cost the
    /// square of what is there.
    @Test func `the time of a statement grows with its rows, whatever the statistics say`() async throws {
        try await StoreFixture.with { fixture in
            func insert(_ count: Int, _ name: String) async throws {
                try await fixture.client.execute(
                    """
                    insert into \(fixture.table) (document) select jsonb_build_object(
                        '_id', '\(name)' || n, 'partition', 'conversation=' || n % 2, 'text', 'hello ' || n)
                    from generate_series(1, \(count)) n
                    """)
            }
            try await insert(3, "few")
            try await fixture.client.withTransaction { transaction in
                try await transaction.execute("update \(fixture.table) set document = document || '{\"n\": 1}'")
                try await transaction.execute("analyze partita.pending")
            }
            let clock = ContinuousClock()
            var times: [Int: Duration] = [:]
            for count in [1000, 8000] {
                times[count] =
                    try await clock.measure { try await insert(count, "of-\(count)-") }
                    + clock.measure {
                        try await fixture.client.execute(
                            "update \(fixture.table) set document = document || '{\"text\": \"bye\"}'")
                    } + clock.measure { try await fixture.client.execute("delete from \(fixture.table)") }
            }
            let small = try #require(times[1000]), large = try #require(times[8000])
            // Eight times the rows: a square would be 64 times.
            #expect(large < small * 24, "1,000 rows: \(small), 8,000 rows: \(large)")
            #expect(try await fixture.head(of: partition) > 12000)
        }
    }

    @Test func `with immediate constraints each statement's changes are numbered, and none is lost`() async throws {
        try await StoreFixture.with { fixture in
            try await fixture.client.withTransaction { transaction in
                try await transaction.execute("set constraints all immediate")
                try await transaction.execute(
                    """
                    insert into \(fixture.table) (document) select jsonb_build_object(
                        '_id', 'd' || n, 'partition', 'conversation=1', 'n', 0) from generate_series(1, 3) n
                    """)
                try await transaction.execute("update \(fixture.table) set document = document || '{\"n\": 1}'")
                try await transaction.execute("delete from \(fixture.table) where _id = 's:d3'")
            }
            let changes = try await fixture.changes(in: partition)
            #expect(changes.map(\.number) == Array(1...7))
            #expect(changes.map(\.operation) == ["insert", "insert", "insert", "update", "update", "update", "delete"])
            let left = try await fixture.client.query(
                "select (select count(*) from partita.pending) + (select count(*) from partita.pending_commits)")
            #expect(try left[0].decode(0, as: Int64.self) == 0)
        }
    }

    /// An update of `document` converts only the fields that it changes. The result is that of converting the whole.
    @Test func `a converted part is what the conversion of the whole would have made of it`() async throws {
        try await StoreFixture.with { fixture in
            var generator = SeededGenerator(seed: 7)
            for round in 0..<300 {
                let before = ExtendedJSON.print(Self.document(&generator), mode: .exact)
                let after = Self.plainText(&generator)
                let rows = try await fixture.client.query(
                    """
                    with states as (
                        select $1::json as was, partita.plain($1::json)::jsonb as old
                    ), changes as (
                        select was, old, (old - 'f1') || $2::jsonb as new from states
                    ), fields as (
                        select *, partita.changed_fields(old, new) as changed from changes
                    )
                    select partita.canonical(new::json, was, old, ''), p.body::text,
                        partita.plain(p.body)::jsonb = p.document
                    from fields cross join lateral partita.patched(was, old, new, changed) p
                    """, [.text(before), .text(after)])
                let (whole, patched, isPlain) = try rows[0].decode((String, String, Bool).self)
                #expect(whole == patched, "round \(round): \(before) and \(after)")
                #expect(isPlain, "round \(round): \(before) and \(after)")
            }
        }
    }

    /// A document with the types that have a plain form of their own.
    private static func document(_ generator: inout SeededGenerator) -> Document {
        var document: Document = ["_id": "a"]
        for number in 0..<6 where Bool.random(using: &generator) {
            document["f\(number)"] = value(&generator, depth: 2)
        }
        return document
    }

    private static func value(_ generator: inout SeededGenerator, depth: Int) -> Value {
        switch Int.random(in: 0..<(depth > 0 ? 10 : 7), using: &generator) {
        case 0: .int32(Int32.random(in: -3...3, using: &generator))
        case 1: .int64(Int64.random(in: -3...3, using: &generator))
        case 2: .double(Double(Int.random(in: -3...3, using: &generator)))
        case 3: .string("t\(Int.random(in: 0...3, using: &generator))")
        case 4: .date(Int64.random(in: 0...3, using: &generator))
        case 5: Bool.random(using: &generator) ? .null : .bool(true)
        case 6: .int64(9_007_199_254_740_993)
        case 7:
            .document(
                Document(
                    fields: (0..<3).map { .init("g\($0)", value(&generator, depth: depth - 1)) }))
        default: .array((0..<Int.random(in: 0...4, using: &generator)).map { _ in value(&generator, depth: depth - 1) })
        }
    }

    /// What an external writer could put into the plain form.
    private static func plainText(_ generator: inout SeededGenerator) -> String {
        let fields = (0..<8).filter { _ in Int.random(in: 0..<3, using: &generator) == 0 }.map { number in
            "\"f\(number)\": \(plain(&generator, depth: 2))"
        }
        return "{" + fields.joined(separator: ", ") + "}"
    }

    private static func plain(_ generator: inout SeededGenerator, depth: Int) -> String {
        switch Int.random(in: 0..<(depth > 0 ? 8 : 5), using: &generator) {
        case 0: "\(Int.random(in: -3...3, using: &generator))"
        case 1: "null"
        case 2: "{\"$date\": \(Int.random(in: 0...3, using: &generator))}"
        case 3: "true"
        case 4: "{\"$numberLong\": \"\(Int.random(in: 0...3, using: &generator))\"}"
        case 5: "{\"g1\": \(plain(&generator, depth: depth - 1)), \"g7\": \(plain(&generator, depth: depth - 1))}"
        default:
            "["
                + (0..<Int.random(in: 0...4, using: &generator)).map { _ in plain(&generator, depth: depth - 1) }
                .joined(separator: ", ") + "]"
        }
    }
}
