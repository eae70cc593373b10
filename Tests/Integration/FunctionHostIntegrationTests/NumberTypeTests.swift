import DocumentModel
import FunctionProtocol
import Testing

/// JavaScript has one type of number, documents have three.
struct NumberTypeTests {
    private static let document: Value = [
        "int": .int32(2), "double": .double(2), "zero": .double(0), "half": .double(1.5), "long": .int64(2),
        "big": .int64(.max), "longs": .array([.int64(1), .int64(2)]), "doubles": .array([.double(1), .double(2.5)]),
        "ints": .array([.int32(1)]), "nested": ["double": .double(-3), "list": .array([["long": .int64(7)]])],
    ]

    @Test(arguments: [
        "exports = async c => c", "exports = async d => ({ ...d })", "exports = async d => Object.assign({}, d)",
        "exports = async d => { const { int, ...rest } = d; return { int, ...rest } }",
        "exports = async d => (await context.services.get('mongodb-atlas').db('D').collection('C').find().toArray())[0]",
        "exports = async d => EJSON.parse(EJSON.stringify(d, { relaxed: false }))",
    ])
    func `a document's numbers keep their types through a function`(_ source: String) throws {
        let host = try TestHost(["same": source])
        let result = try host.call("same", [Self.document]) { _ in .success(.array([Self.document])) }.get()
        #expect(result.isIdentical(to: Self.document), "\(result)")
    }

    /// Arrays of several types, nested ones, and arrays of documents.
    private static let lists: Value = [
        "mixed": .array([.int32(12), .double(13), .int64(5), "text", .double(0.5)]),
        "nested": .array([.array([.double(1), .int32(2)]), .array([.int64(3), .array([.double(4)])])]),
        "rows": .array([["price": .double(7), "count": .int32(7)], ["price": .double(8), "stock": .int64(9)]]),
        "total": .double(20),
    ]

    @Test(arguments: [
        "exports = d => d", "exports = d => structuredClone(d)",
        "exports = async d => ({ ...d, rows: Promise.resolve(d.rows) })",
        "exports = d => ({ ...d, mixed: [...d.mixed], nested: d.nested.map(l => [...l]), rows: [...d.rows] })",
        "exports = d => ({ ...d, mixed: d.mixed.map(x => x), rows: d.rows.filter(() => true).map(r => ({ ...r })) })",
        "exports = d => ({ ...d, mixed: d.mixed.slice(0, 2).concat(d.mixed.slice(2)), total: d.total })",
        "exports = d => ({ ...d, rows: d.rows.map(({ price, ...rest }) => ({ price, ...rest })) })",
        "exports = d => Object.fromEntries(Object.entries(d).map(([key, value]) => [key, value]))",
        "exports = d => JSON.parse(JSON.stringify(d))",
        "exports = d => { d.mixed.push(d.mixed.shift()); d.mixed.unshift(d.mixed.pop()); return d }",
        "exports = d => Object.assign({}, d, { nested: Object.assign([], d.nested) })",
    ])
    func `numbers in arrays keep their types through a function, also in copies`(_ source: String) throws {
        let host = try TestHost(["same": source])
        let result = try host.call("same", [Self.lists]).get()
        #expect(result.isIdentical(to: Self.lists), "\(result)")
    }

    @Test func `a part of a document that is written keeps the types of its numbers`() throws {
        let host = try TestHost([
            "write": """
            exports = async () => {
              const lists = context.services.get("mongodb-atlas").db("D").collection("List");
              const found = await lists.findOne({});
              await lists.updateOne({}, { $set: { mixed: found.mixed, "copy.mixed": [...found.mixed], "rows.0.price": found.rows[0].price },
                $push: { mixed: { $each: [found.mixed[1]] } }, $inc: { total: 20 } });
              await lists.insertOne({ _id: 1, mixed: found.mixed.filter(x => x > 5), total: found.total });
              await lists.updateOne({}, [{ $set: { total: 20 } }]);
              await lists.aggregate([{ $match: { total: 20 } }]).toArray();
            }
            """
        ])
        _ = try host.call("write") { effect in .success(effect.action == "findOne" ? Self.lists : .array([])) }.get()
        let mixed = try #require(Self.lists["mixed"])
        let expected: [Value] = [
            [
                "$set": ["mixed": mixed, "copy.mixed": mixed, "rows.0.price": .double(7)],
                "$push": ["mixed": ["$each": .array([.double(13)])]], "$inc": ["total": .int32(20)],
            ],
            ["_id": .int32(1), "mixed": .array([.int32(12), .double(13)]), "total": .double(20)],
            .array([["$set": ["total": .int32(20)]]]), .array([["$match": ["total": .int32(20)]]]),
        ]
        let written = host.effects.dropFirst().map(\.arguments).compactMap {
            $0["update"] ?? $0["document"] ?? $0["pipeline"]
        }
        #expect(written.count == expected.count)
        for (written, expected) in zip(written, expected) {
            #expect(written.isIdentical(to: expected), "\(written)")
        }
    }

    @Test(
        arguments: [
            // A number that replaces another has its type, a new one that of its value.
            (
                "d => { d.mixed[1] += 1; d.mixed[0] = 2; d.mixed.splice(2, 1); d.mixed.push(6); return d.mixed }",
                .array([.int32(2), .double(14), "text", .double(0.5), .int32(6)])
            ),
            (
                "d => { d.mixed[1] += 1; return d.mixed }",
                .array([.int32(12), .double(14), .int64(5), "text", .double(0.5)])
            ),
            ("d => { d.nested[0].reverse(); return d.nested[0] }", .array([.int32(2), .double(1)])),
            // What was read as a double and as an int under one name, and what has another name, has the type of its value.
            (
                "d => ({ x: d.rows.map(r => ({ price: 7, count: 7 })), sum: d.total })",
                [
                    "x": .array([
                        ["price": .double(7), "count": .int32(7)], ["price": .double(7), "count": .int32(7)],
                    ]), "sum": .int32(20),
                ]
            ),
            (
                "d => [{ q: [1, 2] }, { q: d.twice.q.concat(1) }]",
                .array([["q": .array([.int32(1), .int32(2)])], ["q": .array([.int32(1), .int32(1), .int32(1)])]])
            ),
            ("d => d.twice.q", .array([.int32(1), .double(1)])),
            ("d => JSON.parse(JSON.stringify({ big: d.big }))", ["big": .int64(9_007_199_254_740_993)]),
        ] as [(String, Value)])
    func `what is known of a number's type counts, and nothing else`(_ body: String, _ expected: Value) throws {
        var document = try #require(Self.lists.documentValue)
        document["twice"] = ["q": .array([.int32(1), .double(1)])]
        document["big"] = .int64(9_007_199_254_740_993)
        let host = try TestHost(["change": "exports = \(body)"])
        let result = try host.call("change", [.document(document)]).get()
        #expect(result.isIdentical(to: expected), "\(result)")
    }

    @Test func `an int among plain arguments is known beside a double of the same name`() throws {
        let host = try TestHost([
            "set": """
            exports = async (count) => {
              const found = await context.services.get("mongodb-atlas").db("D").collection("C").findOne({});
              return { count: count.count, other: found.other };
            }
            """
        ])
        let result = try host.call("set", [["count": .int32(5)]]) { _ in
            .success(["count": .double(5), "other": .int64(6)])
        }.get()
        #expect(result.isIdentical(to: ["count": .int32(5), "other": .int64(6)]), "\(result)")
    }

    @Test func `a changed number has the type of its field, and a new one that of its value`() throws {
        let host = try TestHost([
            "change": """
            exports = d => {
              d.int += 1; d.double += 1; d.half = 2; d.long += 1; d.longs.push(9); d.doubles[0] = 4; d.ints.push(8);
              d.new = 5; d.large = 5000000000; d.fraction = 0.5; d.text = d.double + "" + d.long;
              delete d.nested; delete d.zero; delete d.big;
              return d;
            }
            """
        ])
        let result = try host.call("change", [Self.document]).get()
        let expected: Value = [
            "int": .int32(3), "double": .double(3), "half": .double(2), "long": .int64(3),
            "longs": .array([.int64(1), .int64(2), .int64(9)]), "doubles": .array([.double(4), .double(2.5)]),
            "ints": .array([.int32(1), .int32(8)]), "new": .int32(5), "large": .double(5e9), "fraction": .double(0.5),
            "text": "33",
        ]
        #expect(result.isIdentical(to: expected), "\(result)")
    }

    @Test func `the kept types are hidden from loops and JSON`() throws {
        let host = try TestHost([
            "look": """
            exports = d => {
              const names = []; for (const name in d) names.push(name);
              return [names.length, Object.keys(d).length, JSON.stringify(d.doubles), d.double === 2, typeof d.long,
                d.longs.length, Object.entries(d.nested).length];
            }
            """
        ])
        let result = try host.call("look", [Self.document]).get()
        let expected: [Value] = [
            .int32(10), .int32(10), "[1,2.5]", .bool(true), "number", .int32(2), .int32(2),
        ]
        #expect(result.isIdentical(to: .array(expected)), "\(result)")
    }
}
