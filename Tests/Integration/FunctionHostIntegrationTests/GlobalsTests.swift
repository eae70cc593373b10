import DocumentModel
import FunctionProtocol
import Testing

/// What functions have without `require`: the console, timers, bytes, `BSON` and `EJSON`.
struct GlobalsTests {
    @Test func `console and timers work, and output beyond the limit is dropped`() throws {
        let host = try TestHost([
            "talk":
                "exports = async () => { console.log('a', { b: 1 }); console.error('c'); await new Promise(done => setTimeout(done, 5)); return 1 }",
            "flood": "exports = () => { for (let i = 0; i < 100; i++) console.log('x'.repeat(10000)) }",
        ])
        #expect(try host.call("talk").get().intValue == 1)
        #expect(host.logs == ["log: a {\"b\":1}", "error: c"])
        _ = try host.call("flood")
        #expect(host.logs.count < 40)
        #expect(host.logs.last?.contains("dropped") == true)
    }

    @Test func `the console formats, counts, groups and measures, as Node's does`() throws {
        let host = try TestHost([
            "talk": """
            exports = () => {
              console.log("%s is %d%%, %j", "x", 5, { a: 1 }, "more");
              console.log("100% sure", 1);
              console.group("outer");
              console.count();
              console.groupEnd();
              console.assert(true, "not said");
              console.assert(false, "said", 1);
              console.table([{ a: 1 }]);
              console.time("t");
              console.timeEnd("t");
              const timer = setTimeout(() => {}, 1).unref();
              clearTimeout(timer);
              return timer.hasRef();
            }
            """
        ])
        #expect(try host.call("talk").get() == false)
        #expect(
            host.logs.prefix(6) == [
                "log: x is 5%, {\"a\":1} more", "log: 100% sure 1", "log: outer", "log:   default: 1",
                "error: Assertion failed: said 1", "log: [{\"a\":1}]",
            ], "\(host.logs)")
        #expect(host.logs.last?.hasPrefix("log: t: ") == true)
    }

    @Test func `the console shows numbers that JSON doesn't have, and texts that look like them, as they are`() throws {
        let host = try TestHost([
            "talk": #"""
            exports = () => {
              console.log(NaN, -Infinity, { a: [Infinity, { b: NaN }], c: BSON.Double(NaN) });
              console.log("%j", { a: NaN }, '{"$numberDouble":"NaN"}', { text: '{"$numberDouble":"NaN"}' });
              return EJSON.stringify([BSON.Double(NaN), BSON.Double(2)], { relaxed: true });
            }
            """#
        ])
        #expect(try host.call("talk").get().stringValue == #"[{"$numberDouble":"NaN"},2]"#)
        #expect(
            host.logs == [
                #"log: NaN -Infinity {"a":[Infinity,{"b":NaN}],"c":NaN}"#,
                #"log: {"a":NaN} {"$numberDouble":"NaN"} {"text":"{\"$numberDouble\":\"NaN\"}"}"#,
            ], "\(host.logs)")
    }

    @Test func `a photo's bytes are hashed, encoded and compressed within the memory of a call`() throws {
        let host = try TestHost([
            "f": """
            exports = kind => {
              const bytes = Buffer.alloc(10_000_000, "photo"), crypto = require("crypto");
              switch (kind) {
                case "hash": return crypto.createHash("sha256").update(bytes).digest("hex").length;
                case "base64": return bytes.toString("base64").length;
                case "btoa": return btoa("x".repeat(8_000_000)).length;
                case "gzip": return require("zlib").gzipSync(bytes).length > 0 ? 1 : 0;
                case "text": return new TextDecoder().decode(bytes).length;
                case "binary": return BSON.Binary(bytes).toBase64().length;
              }
            }
            """
        ])
        for (kind, expected) in [
            ("hash", 64), ("base64", 13_333_336), ("btoa", 10_666_668), ("gzip", 1), ("text", 10_000_000),
            ("binary", 13_333_336),
        ] {
            #expect(try host.call("f", [.string(kind)], cpuLimit: 10).get().intValue == expected, "\(kind)")
        }
    }

    @Test func `longs have arithmetic, and many timers are cheap`() throws {
        let host = try TestHost([
            "long": """
            exports = () => {
              const l = BSON.Long.fromString("9007199254740993");
              return [l.add(7), l.subtract(l).isZero(), l.multiply(2).divide(2).equals(l), l.compare(1), l.negate(), BSON.Long().toNumber(),
                BSON.Long.fromBits(l.low, l.high), BSON.Long.MAX_VALUE, BSON.Double().value];
            }
            """,
            "timers": """
            exports = async () => {
              let fired = 0;
              await Promise.all(Array.from({ length: 10_000 }, (_, i) => new Promise(done => setTimeout(() => { fired++; done(); }, i % 20))));
              const kept = [];
              const first = setTimeout(() => { clearTimeout(second); kept.push(1); }, 1), second = setTimeout(() => kept.push(2), 1);
              await new Promise(done => setTimeout(done, 10));
              return [fired, kept.length];
            }
            """,
            "half": "exports = () => 'a😀'.slice(0, 2)",
            "thrown": "exports = () => { throw new Error('a😀'.slice(0, 2)) }",
        ])
        let long = try host.call("long").get().arrayValue ?? []
        #expect(
            long.map { ExtendedJSON.print($0, mode: .canonical) } == [
                #"{"$numberLong":"9007199254741000"}"#, "true", "true", #"{"$numberInt":"1"}"#,
                #"{"$numberLong":"-9007199254740993"}"#, #"{"$numberInt":"0"}"#, #"{"$numberLong":"9007199254740993"}"#,
                #"{"$numberLong":"9223372036854775807"}"#, #"{"$numberInt":"0"}"#,
            ], "\(long)")
        let begin = ContinuousClock.now
        #expect(try host.call("timers", cpuLimit: 10).get() == [10_000, 1])
        #expect(ContinuousClock.now - begin < .seconds(4))
        #expect(try host.call("half").get().stringValue == "a\u{FFFD}")
        guard case .failure(let failure) = try host.call("thrown") else { return #expect(Bool(false), "not thrown") }
        #expect(failure.message == "a\u{FFFD}")
    }

    @Test func `the documented forms of extreme keys and Extended JSON are those of App Services`() throws {
        let host = try TestHost([
            "keys": "exports = () => [BSON.MinKey, { $lt: BSON.MaxKey }, BSON.MaxKey(), new BSON.MinKey()]",
            "text": """
            exports = () => [EJSON.stringify({ n: 42, d: new Date(1), l: BSON.Long.fromString("9007199254740993") }),
              EJSON.stringify({ n: 42 }, { relaxed: true })]
            """,
            "large": "exports = () => 2n ** 70n",
        ])
        #expect(try host.call("keys").get() == [.minKey, ["$lt": .maxKey], .maxKey, .minKey])
        #expect(
            try host.call("text").get() == [
                #"{"n":{"$numberInt":"42"},"d":{"$date":{"$numberLong":"1"}},"l":{"$numberLong":"9007199254740993"}}"#,
                #"{"n":42}"#,
            ])
        #expect(throws: FunctionFailure.self) { try host.call("large").get() }
    }

    @Test(
        arguments: [
            (
                "(key, value) => key === 'password' ? undefined : value", "",
                #"{"n":{"$numberLong":"5"},"name":"Ann","list":[{"n":{"$numberInt":"1"}}],"at":{"$date":{"$numberLong":"1"}}}"#
            ),
            (
                "function (key, value) { return key === 'n' && 'name' in this ? value + 1 : value instanceof Date ? 'then' : key === 'list' ? [] : value }",
                ", 0, { relaxed: true }", #"{"n":6,"name":"Ann","password":"p","list":[],"at":"then"}"#
            ),
            (
                "['list', 'n', 'at']", "",
                #"{"list":[{"n":{"$numberInt":"1"}}],"n":{"$numberLong":"5"},"at":{"$date":{"$numberLong":"1"}}}"#
            ),
            ("['name']", ", 1", "{\n \"name\": \"Ann\"\n}"),
            ("() => undefined", "", nil),
        ] as [(String, String, String?)])
    func `a replacer of EJSON.stringify takes values out and changes others`(
        _ replacer: String, _ more: String, _ expected: String?
    ) throws {
        let host = try TestHost(["text": "exports = document => EJSON.stringify(document, \(replacer)\(more)) ?? null"])
        let document: Value = [
            "n": .int64(5), "name": "Ann", "password": "p", "list": .array([["password": "q", "n": .int32(1)]]),
            "at": .date(1),
        ]
        #expect(try host.call("text", [document]).get().stringValue == expected)
    }
}
