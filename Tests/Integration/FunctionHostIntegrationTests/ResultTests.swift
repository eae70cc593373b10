import DocumentModel
import FunctionProtocol
import Testing

/// How a run's result becomes a value. Most results are handed over as plain JSON; these are the ones that mustn't be, or just may.
struct ResultTests {
    @Test(
        arguments: [
            ("-0", .double(-0.0)), ("2147483647", .int32(.max)), ("2147483648", .double(2_147_483_648)),
            ("1e21", .double(1e21)), ("1e-7", .double(1e-7)), ("[0.1, 3]", [.double(0.1), .int32(3)]),
            ("({ a: -Infinity, b: undefined, c: () => 1, d: Symbol() })", ["a": .double(-.infinity)]),
            ("[1, , undefined]", [.int32(1), .null, .null]), ("5n", .int64(5)), ("[new Date(5)]", [.date(5)]),
            ("({ a: { $numberLong: '5' } })", ["a": .int64(5)]), ("({ a: { toJSON() { return 1; } } })", ["a": [:]]),
            ("Object.assign([1], { toJSON() { return 2; } })", [.int32(1)]),
            ("({ toEJSON() { return 'own'; } })", "own"),
            ("({ a: [Promise.resolve('p')] })", ["a": ["p"]]), ("({ a: { then(done) { done('t'); } } })", ["a": "t"]),
            ("[new Number(5), new String('s'), new Boolean(false), Object(7n)]", [.int32(5), "s", false, .int64(7)]),
            (
                "EJSON.stringify([new BSON.Double(2), new BSON.Double(0.5), new BSON.Int32(2)])",
                .string(#"[{"$numberDouble":"2.0"},{"$numberDouble":"0.5"},{"$numberInt":"2"}]"#)
            ),
            ("EJSON.parse('{\"a\":{\"$numberDouble\":\"3\"}}')", ["a": .double(3)]),
            (
                #"[/a\/b[/]\\\/+/i, new RegExp("")]"#,
                [.regex(RegularExpression(#"a/b[/]\\/+"#, options: "i")), .regex(RegularExpression(""))]
            ),
        ] as [(String, Value)])
    func `a result is written in the types of its values`(_ expression: String, _ expected: Value) throws {
        let host = try TestHost(["result": "exports = () => \(expression)"])
        let result = try host.call("result").get()
        #expect(result.isIdentical(to: expected), "\(result)")
    }

    @Test(arguments: ["", "async "])
    func `a result is taken after what was due before it, and before what is due later`(_ kind: String) throws {
        let host = try TestHost([
            "result": """
            exports = \(kind)() => {
              const result = { steps: 0 };
              (async () => { for (let step = 1; step < 9; step++) { await null; result.steps = step; } })();
              return result;
            }
            """
        ])
        #expect(try host.call("result").get()["steps"] == .int32(1))
    }

    @Test func `a result whose getter throws is a failure`() throws {
        let host = try TestHost(["result": "exports = () => ({ get a() { throw new Error('no'); } })"])
        let failure = #expect(throws: FunctionFailure.self) { try host.call("result").get() }
        #expect(failure?.message == "no")
    }
}
