import DocumentModel
import FunctionProtocol
import Testing

/// The fields of an argument are converted when the function reads them. It must not notice.
struct ArgumentTests {
    private static let id = ObjectId()
    private static let event: Value = [
        "_id": ["_data": "85a1"], "operationType": "update",
        "documentKey": ["_id": .objectId(id)],
        "fullDocument": [
            "_id": .objectId(id), "long": .int64(5), "double": .double(2),
            "at": .date(1_764_700_000_000), "late": .date(.max), "list": .array([.int64(1), .date(5)]),
        ],
        "ids": .array([.objectId(id)]), "at": .date(7), "nothing": .null,
    ]

    @Test(arguments: [
        "exports = e => e", "exports = e => ({ ...e })", "exports = e => Object.assign({}, e)",
        "exports = e => Object.fromEntries(Object.entries(e))", "exports = e => EJSON.parse(EJSON.stringify(e))",
        "exports = e => { const copy = {}; for (const key in e) copy[key] = e[key]; return copy }",
        "exports = e => { const { _id, operationType, ...rest } = e; return { _id, operationType, ...rest } }",
        "exports = e => structuredClone({ e }).e", "exports = e => context.functions.execute('same', e)",
        "exports = e => { for (const key of Object.keys(e)) { const value = e[key]; delete e[key]; e[key] = value } return e }",
    ])
    func `a function gets all of an event, in its order`(_ source: String) throws {
        let host = try TestHost(["f": source, "same": "exports = e => e"])
        for seed in [nil, 5] as [Int64?] {
            let result = try host.call("f", [Self.event], seed: seed, now: seed).get()
            #expect(result.isIdentical(to: Self.event), "\(result)")
        }
    }

    @Test(arguments: [
        "exports = x => x", "exports = async x => x", "exports = (...all) => all[0]",
        "exports = function () { return arguments[0] }",
        "exports = x => context.functions.execute('same', x)", "exports = x => structuredClone(x)",
        "exports = x => ({ ...x })",
    ])
    func `numbers of an argument that was not read keep their types`(_ source: String) throws {
        let host = try TestHost(["f": source, "same": "exports = x => x"])
        for argument: Value in [
            ["a": ["long": .int64(1), "double": .double(2)]], ["a": .array([.int64(7)])],
            ["a": ["b": ["c": .double(3)]]],
            ["a": .document(Document(fields: [.init("__proto__", ["n": .int64(1)])]))],
        ] {
            let result = try host.call("f", [argument]).get()
            #expect(result.isIdentical(to: argument), "\(result)")
        }
    }

    @Test func `an event's fields are its own, can be changed, and are made once`() throws {
        let host = try TestHost([
            "f": """
            exports = function (e) {
              "use strict";
              const document = e.fullDocument, key = e.documentKey._id;
              e.fullDocument.long = 6;
              e.ids = [];
              delete e.at;
              return [e.fullDocument === document, e.documentKey._id === key, document.long, e.ids.length, "at" in e, Object.keys(e),
                key.constructor.name, key.equals(document._id), document.at instanceof Date, JSON.stringify(e.documentKey)];
            }
            """
        ])
        let names: [Value] = ["_id", "operationType", "documentKey", "fullDocument", "ids", "nothing"]
        #expect(
            try host.call("f", [Self.event], now: 1_764_700_000_000).get()
                == .array([
                    true, true, .int32(6), .int32(0), false, .array(names), "ObjectID", true, true,
                    .string(#"{"_id":"\#(Self.id.hexString)"}"#),
                ]))
    }

    @Test func `an event can be frozen or sealed before its fields are read`() throws {
        let host = try TestHost([
            "frozen": """
            exports = e => {
              Object.freeze(e);
              const document = e.fullDocument;
              e.ids = [];
              return [e.fullDocument === document, document.at instanceof Date, e.ids.length, e.operationType, Object.isFrozen(e), { ...e }.at];
            }
            """,
            "sealed":
                "exports = e => { Object.seal(e); e.ids = [1, 2]; delete e.at; return [e.ids === e.ids, e.ids.length, e.at, e.nothing] }",
            "context":
                "exports = () => { Object.freeze(context); return [context.user === context.user, context.user.id] }",
        ])
        #expect(
            try host.call("frozen", [Self.event]).get() == .array([true, true, .int32(1), "update", true, .date(7)]))
        #expect(try host.call("sealed", [Self.event]).get() == .array([true, .int32(2), .date(7), .null]))
        #expect(try host.call("context", context: ["user": ["id": "ann"]]).get() == .array([true, "ann"]))
    }

    @Test func `what stands for a value is that value, and a field of any name is a field`() throws {
        let host = try TestHost([
            "f":
                "exports = (id, date, long, e) => [String(id), date.getTime(), long, Object.keys(e), e['__proto__'].at]"
        ])
        let odd: Value = .document(
            Document(fields: [.init("__proto__", ["at": .date(3)]), .init("x", ["y": .date(1)])]))
        let result = try host.call(
            "f", [.objectId(Self.id), .date(9), .int64(7), odd]
        ).get()
        #expect(
            result.isIdentical(
                to: .array([.string(Self.id.hexString), .int32(9), .int64(7), ["__proto__", "x"], .date(3)])),
            "\(result)")
    }

    @Test func `a clock that stands still can be watched`() throws {
        let host = try TestHost(["f": "exports = () => [Date.now(), new Date().getTime()]"])
        #expect(
            try host.call("f", [], now: 1_764_700_000_000, watchesClock: true).get()
                == .array([.double(1_764_700_000_000), .double(1_764_700_000_000)]))
        #expect(host.clockReadings == 1)
    }

    /// Packages tell a date by its constructor, and make others by it.
    @Test(arguments: [
        "exports = e => { const other = new (e.at.constructor)(); return [other.getTime(), e.at.constructor === Date, e.at instanceof Date] }",
        "exports = e => [new Date().getTime(), new Date().constructor === Date, e.fullDocument.at.constructor === Date]",
        "exports = e => { const { at } = structuredClone(e); return [at.constructor.now(), new Date(at).constructor === at.constructor, at instanceof Date] }",
        "exports = e => { class Day extends Date {} return [new Day().getTime(), new Day().constructor === Day, Date.prototype.constructor === Date] }",
    ])
    func `all dates of a run have one constructor, which has the run's clock`(_ source: String) throws {
        let host = try TestHost(["f": source])
        let result = try host.call("f", [Self.event], seed: 7, now: 1_000, watchesClock: true).get()
        #expect(result == .array([.int32(1_000), true, true]), "\(result)")
        #expect(host.clockReadings == 1)
    }
}
