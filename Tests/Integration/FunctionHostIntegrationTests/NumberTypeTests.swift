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
