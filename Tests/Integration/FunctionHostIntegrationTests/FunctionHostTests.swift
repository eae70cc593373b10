import ChildProcesses
import DocumentModel
import FunctionProtocol
import Testing

struct FunctionHostTests {
    @Test(arguments: [
        "exports = function(a, b) { return a + b }", "exports = async function(a, b) { return a + b }",
        "exports = (a, b) => a + b",
        "const add = (x, y) => x + y\nexports = async (a, b) => { return await add(a, b) }",
        "exports = function(a, b) { return Promise.resolve(a + b) };",
    ])
    func `every way to write a function works`(_ source: String) throws {
        let host = try TestHost(["add": source])
        let result = try host.call("add", [.int32(2), .int32(3)]).get()
        #expect(result.isIdentical(to: .int32(5)))
    }

    @Test func `every BSON type that a function passes through comes back unchanged`() throws {
        let host = try TestHost(["same": "exports = x => x"])
        let values: [Value] = [
            .null, .bool(true), .int32(-7), .double(1.5), .double(.infinity), .double(-0.0), .double(1e300),
            .string("a\u{0}ü🎻"),
            .objectId(ObjectId(high: 0x0123_4567_89ab_cdef, low: 7)), .date(-1), .date(1_700_000_000_123),
            .date(8_640_000_000_000_001), .date(.min),  // beyond JavaScript's times
            .binary(Binary([1, 2, 255, 0], subtype: 0)), .binary(Binary(Array(0..<16), subtype: 4)),
            .binary(Binary([], subtype: 5)),
            .int64(.max), .timestamp(Timestamp(seconds: 5, increment: 6)),
            .regex(RegularExpression("a.b", options: "i")),
            .minKey, .maxKey, .array([]), .document([:]), .array([.null, .document(["a": .array([.int32(1)])])]),
            .symbol("s"), .document(["__proto__": .int32(1), "b": .int32(2)]),
        ]
        for value in values {
            let result = try host.call("same", [value]).get()
            #expect(result.isIdentical(to: value), "\(value) came back as \(result)")
        }
    }

    @Test func `what a call is given stays its own while memory is collected all the time`() throws {
        let host = try TestHost(
            ["same": "exports = (a, b) => [b, a]"], variables: ["JSC_collectContinuously": "true"])
        for number in 0..<2000 as Range<Int32> {
            let text = "call \(number) \(String(repeating: "x", count: Int(number) % 100 * 10))"
            let result = try host.call("same", [.string(text), .int32(number)]).get()
            #expect(result.isIdentical(to: .array([.int32(number), .string(text)])), "\(result)")
        }
    }

    @Test func `an invalid Date is refused by name`() throws {
        let host = try TestHost(["bad": "exports = () => ({ at: new Date('never') })"])
        let result = try host.call("bad")
        #expect(throws: FunctionFailure.self) { try result.get() }
        if case .failure(let failure) = result { #expect(failure.message.contains("an invalid Date"), "\(failure)") }
    }

    @Test func `a thrown error has its message, function and line`() throws {
        let host = try TestHost([
            "bad": "exports = function() {\n  const a = null\n  return a.b\n}",
            "plain": "exports = () => { throw 'no' }",
        ])
        let failure = #expect(throws: FunctionFailure.self) { try host.call("bad").get() }
        #expect(failure?.code == .functionExecutionError)
        #expect(failure?.message.hasPrefix("TypeError") == true)
        #expect(failure?.function == "bad")
        #expect(failure?.line == 3)
        #expect(#expect(throws: FunctionFailure.self) { try host.call("plain").get() }?.message == "no")
        #expect(#expect(throws: FunctionFailure.self) { try host.call("none").get() }?.code == .functionNotFound)
    }

    @Test(arguments: [
        "const e = new Error(); Object.defineProperty(e, 'message', { get() { throw 1 } }); throw e",
        "const e = new Error('x'); Object.defineProperty(e, 'stack', { get() { throw 1 } }); throw e",
        "const e = new Error(); e.message = { toString() { throw 1 } }; throw e",
        "const e = new Error(); e.name = Symbol(); throw e",
        "throw new Proxy({}, { getPrototypeOf() { throw 1 } })",
        "throw { toEJSON() { throw 1 }, toString() { throw 1 } }",
        "throw Object.create(null)", "throw Symbol('s')", "throw undefined", "throw null",
    ])
    func `whatever is thrown ends the call, and an operation that isn't awaited`(_ body: String) throws {
        let host = try TestHost([
            "bad": "exports = () => { \(body) }", "later": "exports = async () => { await null; \(body) }",
            "apart": "exports = () => { (async () => { \(body) })(); return 1 }",
        ])
        for name in ["bad", "later"] {
            let failure = #expect(throws: FunctionFailure.self) { try host.call(name).get() }
            #expect(failure?.code == .functionExecutionError)
            #expect(failure?.message.contains("promise") == false, "\(String(describing: failure))")
        }
        #expect(try host.call("apart").get() == 1)
    }

    @Test func `an error names the app's line, however deep in the prelude it was thrown`() throws {
        let host = try TestHost([
            "unsupported":
                "exports = () => {\n  context.services.get('mongodb-atlas').db('D').collection('C').drop()\n}",
            "rejected":
                "exports = async () => {\n  const c = context.services.get('mongodb-atlas').db('D').collection('C');\n  await c.findOne();\n  await c.insertOne();\n}",
            "read":
                "exports = async () => {\n\n  return await context.services.get('x').db('D').collection('C').find().toArray() }",
            "unawaited": "exports = () => context.services.get('mongodb-atlas').db('D').collection('C').find()",
            "timer": "exports = () => new Promise(() => {\n  setTimeout(() => { throw new Error('late') }, 1) })",
            "promise": "exports = async () => {\n\n  await Promise.reject(new TypeError('no')) }",
            "plain": "exports = async () => { throw 'no' }",
            "outer": "exports = () => context.functions.execute('unsupported')",
            "loop": "exports = () => { for (;;) {} }",
        ])
        let expected: [(String, String, Int?)] = [
            ("unsupported", "unsupported", 2), ("rejected", "rejected", 4), ("read", "read", 3),
            ("unawaited", "unawaited", nil), ("timer", "timer", 2), ("promise", "promise", 3),
            ("plain", "plain", 1), ("outer", "unsupported", 2), ("missing", "missing", nil), ("loop", "loop", nil),
        ]
        for (name, function, line) in expected {
            let failure = #expect(throws: FunctionFailure.self) {
                try host.call(name, cpuLimit: 0.2) { effect in
                    effect.action == "findOne"
                        ? .success(.null) : .failure(EffectFailure(name: "MongoDBError", message: "refused"))
                }.get()
            }
            #expect(failure?.function == function, "\(name)")
            #expect(failure?.line == line, "\(name)")
        }
    }

    /// The engine has no stack for a value that isn't an Error.
    @Test(
        arguments: [
            ("exports = async () => {\n  // throw 'no'\n  if (1)\n    throw 'no';\n  throw 'other' }", "main", 4),
            (
                "exports = () => {\n  try { context.functions.execute('inner') } catch (error) {\n    throw error } }",
                "inner", 2
            ),
            ("exports = () => {\n  const code = 5;\n  throw { code, message: 'no' } }", "main", 3),
            ("exports = () => {\n\n  throw `no ${1}` }", "main", 3),
            ("exports = () => {\n  if (0) throw new Error('no');\n  throw 'a' + 1 }", "main", 3),
            // These may be either.
            ("exports = x => {\n  if (x) throw x;\n  throw { no: 1 } }", "main", nil),
            ("exports = x => {\n  if (x) throw x;\n  return new Promise((_, reject) => reject('no')) }", "main", nil),
        ] as [(String, String, Int?)])
    func `a thrown text or object is in the line that threw it`(
        _ source: String, _ function: String, _ line: Int?
    ) throws {
        let host = try TestHost(["main": source, "inner": "exports = () => {\n  throw 'inside' }"])
        let failure = #expect(throws: FunctionFailure.self) { try host.call("main").get() }
        #expect(failure?.function == function)
        #expect(failure?.line == line)
    }

    @Test func `a line of the console names the function and line that wrote it`() throws {
        let host = try TestHost([
            "talk":
                "exports = async () => {\n  console.log('a');\n  await null;\n  console.warn('b');\n  context.functions.execute('inner') }",
            "inner": "exports = () => console.error('c')",
        ])
        _ = try host.call("talk").get()
        #expect(host.lines.map(\.function) == ["talk", "talk", "inner"])
        #expect(host.lines.map(\.line) == [2, 4, 1])
    }

    @Test func `documents are read and written through effects, and a rejected one can be caught`() throws {
        let host = try TestHost([
            "work": """
            exports = async function(name) {
              const users = context.services.get("mongodb-atlas").db("D").collection("User");
              const found = await users.findOne({ name });
              await users.updateOne({ _id: found._id }, { $set: { seen: true } }, { upsert: true });
              try { await users.deleteOne({}) } catch (error) { return { code: error.code, name: error.name, all: users.find({ a: 1 }).sort({ b: -1 }).limit(2) } }
            }
            """
        ])
        let result = try host.call("work", [.string("Ada")]) { effect in
            switch effect.action {
            case "findOne": .success(.document(["_id": .int32(9)]))
            case "deleteOne": .failure(EffectFailure(name: "MongoDBError", message: "no", code: 13))
            case "find": .success(.array([.int32(1), .int32(2)]))
            default: .success(.document(["matchedCount": .int32(1)]))
            }
        }.get()
        #expect(host.effects.map(\.action) == ["findOne", "updateOne", "deleteOne", "find"])
        #expect(host.effects.map(\.ordinal) == [0, 1, 2, 3])
        #expect(host.effects[0].arguments["filter"]?.documentValue?["name"]?.stringValue == "Ada")
        #expect(host.effects[1].arguments["upsert"]?.boolValue == true)
        #expect(host.effects[3].arguments["limit"]?.intValue == 2)
        #expect(result.documentValue?["code"]?.intValue == 13)
        #expect(result.documentValue?["all"]?.arrayValue?.count == 2)
    }

    /// A repeatable run is told in the order of its calls.
    @Test(arguments: [7, nil] as [Int64?])
    func `a call whose arguments can't be sent fails, and the function can catch it`(seed: Int64?) throws {
        let host = try TestHost([
            "main": """
            exports = async () => {
              const items = context.services.get("mongodb-atlas").db("D").collection("Item"), order = [];
              const insert = async (name, document) => {
                try { await items.insertOne(document); order.push(name) }
                catch (error) { order.push(name + " " + error.name + " " + error.code) }
              };
              await Promise.all([
                insert("sent", { _id: 1 }), insert("id", { _id: { $oid: "zz" } }), insert("size", { _id: 1, a: "x".repeat(17 << 20) }),
              ]);
              await insert("decimal", { _id: 1, a: { $numberDecimal: "abc" } });
              return order;
            }
            """
        ])
        let order = try host.call("main", cpuLimit: 10, seed: seed).get().arrayValue?.compactMap(\.stringValue) ?? []
        let expected = ["sent", "id MongoDBError 2", "size MongoDBError 10334", "decimal MongoDBError 2"]
        #expect(host.effects.count == 1)
        #expect(seed == nil ? order.sorted() == expected.sorted() : order == expected, "\(order)")
    }

    @Test func `a Decimal128 is made of a number's text, and of nothing else`() throws {
        let host = try TestHost([
            "main": """
            exports = (good, bad) => {
              const isMade = text => { try { return BSON.Decimal128.fromString(text).toString() === text } catch { return false } };
              return [good.filter(text => !isMade(text)), bad.filter(isMade)];
            }
            """
        ])
        let nines = String(repeating: "9", count: 34)
        let good = [
            "0", "-0", "1.50", "+1", ".5", "5.", "1e3", "1E-6176", "\(nines)E+6111", "1E+6144", "\(nines)0", "0E+9999",
            "NaN", "-Infinity", "inf",
        ]
        let bad = ["", "abc", ".", "1e", "e5", "1.2.3", "1 ", "0x1", "\(nines)9", "1E-6177", "1E+6145", "undefined"]
        let result = try host.call("main", [good, bad].map { .array($0.map { .string($0) }) }).get()
        #expect(result == [[], []], "\(result)")
        // As documents have them.
        #expect(good.allSatisfy { Decimal128($0) != nil } && bad.allSatisfy { Decimal128($0) == nil })
    }

    @Test func `the context shows user, values and environment, and functions call each other`() throws {
        let host = try TestHost([
            "outer":
                "exports = async () => ({ id: context.user.id, v: context.values.get('v'), tag: context.environment.tag, system: context.runningAsSystem(), inner: await context.functions.execute('inner', 4) })",
            "inner": "exports = async n => n * 2",
        ])
        let result = try host.call(
            "outer",
            context: [
                "user": .document(["id": .string("u1")]), "values": .document(["v": .string("value")]),
                "environment": .document(["tag": .string("production")]), "runningAsSystem": .bool(true),
            ]
        ).get().documentValue
        #expect(result?["id"]?.stringValue == "u1")
        #expect(result?["v"]?.stringValue == "value")
        #expect(result?["tag"]?.stringValue == "production")
        #expect(result?["system"]?.boolValue == true)
        #expect(result?["inner"]?.intValue == 8)
    }

    @Test func `a value whose secret isn't set throws and names it, and others are there`() throws {
        let host = try TestHost([
            "get":
                "exports = name => { try { return context.values.get(name) } catch (error) { return error.message } }"
        ])
        let context: Document = ["values": ["set": "value"], "unsetSecrets": ["key": "theSecret"]]
        func get(_ name: String) throws -> Value { try host.call("get", [.string(name)], context: context).get() }
        #expect(try get("set").stringValue == "value")
        #expect(try get("key").stringValue == "the value 'key' is the secret 'theSecret', which isn't set")
        #expect(try get("toString").isIdentical(to: .undefined))
    }

    @Test func `a service of type http is served by its name`() throws {
        let host = try TestHost([
            "ask": "exports = async () => (await context.services.get('web').get({ url: 'http://a/' }))"
        ])
        let answer = try host.call("ask", context: ["services": ["web": "http"]]) { _ in .success("answer") }
        #expect(try answer.get().stringValue == "answer")
        #expect(host.effects.map(\.service) == ["web"])
        #expect(host.effects.map(\.action) == ["http.get"])
    }

    @Test func `calls share nothing`() throws {
        let host = try TestHost([
            "count": "exports = () => { globalThis.n = (globalThis.n ?? 0) + 1; return globalThis.n }"
        ])
        #expect(try host.call("count").get().intValue == 1)
        #expect(try host.call("count").get().intValue == 1)
    }

    @Test func `what a call does to the language and to other functions is gone with it`() throws {
        let host = try TestHost(
            [
                "spoil": """
                exports = () => {
                  const evil = () => "(function () { return () => 'spoilt' })";
                  String.prototype.replace = evil; String.prototype.startsWith = () => true; RegExp.prototype.test = () => true;
                  RegExp.prototype[Symbol.replace] = evil; Array.prototype.map = evil; JSON.parse = evil; JSON.stringify = () => '"spoilt"';
                  Object.prototype.spoilt = true; Promise.prototype.then = evil; Object.hasOwn = () => false;
                  BSON.ObjectId.prototype.toEJSON = evil; EJSON.parse = evil; console.log = evil; context.user.id = "spoilt";
                  globalThis.setTimeout = evil; globalThis.Buffer = evil; globalThis.context = evil;
                  try { context.functions.execute("imports"); } catch {}
                  try { context.functions.execute("plain"); } catch {}
                  try { require("lib").value = "spoilt"; } catch {}
                };
                """,
                "imports": "import lib from 'lib';\nexports = () => lib.value;", "plain": "exports = () => 'plain';",
                "look": """
                exports = async () => {
                  await new Promise(done => setTimeout(done, 1));
                  return [
                    context.functions.execute("imports"), context.functions.execute("plain"), {}.spoilt === undefined, context.user.id,
                    typeof Buffer.from, new BSON.ObjectId("64f000000000000000000001"), EJSON.parse('{"a": {"$numberInt": "1"}}').a,
                    Object.keys(globalThis).filter(name => name !== "context"),
                  ];
                };
                """,
            ], modules: ["lib/index.js": "exports.value = 'whole'"])
        let context: Document = ["user": ["id": "ann"]]
        let first = try host.call("look", context: context).get()
        for _ in 0..<8 {
            // Whatever becomes of it.
            _ = try host.call("spoil", context: ["user": ["id": "eve"]])
            #expect(try host.call("look", context: context).get() == first)
        }
        #expect(first.arrayValue?.first?.stringValue == "whole")
        #expect(first.arrayValue?.last?.arrayValue?.isEmpty == true)
    }

    @Test func `a seeded run is reproducible`() throws {
        let source =
            "exports = () => [Math.random(), String(new BSON.ObjectId()), String(BSON.ObjectId()), Date.now(), new Date().toISOString()]"
        let host = try TestHost(["random": source])
        let first = try host.call("random", seed: 42, now: 1_700_000_000_000).get()
        let second = try host.call("random", seed: 42, now: 1_700_000_000_000).get()
        #expect(first.isIdentical(to: second))
        #expect(first.arrayValue?.last?.stringValue == "2023-11-14T22:13:20.000Z")
        #expect(try !host.call("random", seed: 43, now: 1_700_000_000_000).get().isIdentical(to: first))
    }

    /// The engine seeds each realm's random numbers with 32 bits, here with the same ones.
    @Test func `two requests have no random numbers, ids or tokens in common, whatever the engine's seed`() throws {
        let source =
            "exports = () => [Math.random(), String(BSON.ObjectId()).slice(8, 18), String(BSON.UUID()), String(new BSON.UUID())]"
        let host = try TestHost(
            ["random": source], variables: ["JSC_forceWeakRandomSeed": "1", "JSC_forcedWeakRandomSeed": "7"])
        let first = try #require(host.call("random").get().arrayValue)
        let second = try #require(host.call("random").get().arrayValue)
        #expect(!zip(first, second).contains { $0 == $1 }, "\(first) \(second)")
        #expect(first[2] != first[3])
    }

    @Test func `the ids of a request are counted`() throws {
        let host = try TestHost([
            "ids": """
            exports = () => Array.from({ length: 3 }, () => String(new BSON.ObjectId()))
              .map(id => [id.slice(8, 18), parseInt(id.slice(18), 16)])
              .every(([bytes, count], index, ids) => bytes === ids[0][0] && count === (ids[0][1] + index) % 2 ** 24)
            """
        ])
        #expect(try host.call("ids").get() == true)
    }

    @Test func `a run that is repeated has the same UUIDs, from a key that its parent keeps`() throws {
        let host = try TestHost(["ids": "exports = () => [String(BSON.UUID()), String(BSON.UUID())]"])
        func ids(key: UInt8) throws -> Value {
            try host.call("ids", seed: 42) { effect in
                #expect(effect.service == FunctionEffect.random)
                return .success(.binary(Binary(Array(repeating: key, count: 32), subtype: 0)))
            }.get()
        }
        let first = try ids(key: 1)
        #expect(try ids(key: 1) == first)
        #expect(try ids(key: 2) != first)
        #expect(first.arrayValue?[0] != first.arrayValue?[1])
    }

    @Test func `a run tells when it reads the clock, once, and not when it only makes dates`() throws {
        let host = try TestHost([
            "made":
                "exports = at => [new Date(at).getTime(), Date.UTC(2020, 1), new Date('2020-01-01') instanceof Date]",
            "read": "exports = at => [new Date() > new Date(at), Date.now() > at, Date().length > 0]",
        ])
        #expect(try host.call("made", [5], watchesClock: true).get().arrayValue?.first?.intValue == 5)
        #expect(host.clockReadings == 0)
        #expect(try host.call("read", [5], watchesClock: true).get() == [true, true, true])
        #expect(host.clockReadings == 1)
        _ = try host.call("read", [5])
        #expect(host.clockReadings == 1)
    }

    /// A run that starts again gets its answers from a record, at once; a call that took long before must not come earlier then.
    @Test(arguments: [7, nil] as [Int64?])
    func `a repeatable run gets its answers in the order of its calls`(seed: Int64?) throws {
        let host = try TestHost([
            "race": """
            exports = async () => {
              const items = context.services.get("mongodb-atlas").db("d").collection("c"), order = [];
              const branch = async name => { order.push(name + (await items.findOne({ name }))); };
              await Promise.all([branch("a"), branch("b"), branch("c")]);
              return order;
            }
            """
        ])
        let call = try host.begin("race", seed: seed)
        var ordinals: [Int64] = []
        while ordinals.count < 3 {
            if case .effect(_, let effect) = try host.next() { ordinals.append(effect.ordinal) }
        }
        for ordinal in ordinals.reversed() {
            try host.send(.answer(call: call, ordinal: ordinal, .success(.int64(ordinal - ordinals[0]))))
        }
        while true {
            guard case .done(_, let result, _, _) = try host.next() else { continue }
            #expect(try result.get() == (seed == nil ? ["c2", "b1", "a0"] : ["a0", "b1", "c2"]))
            return
        }
    }

    @Test func `a function whose promise can't settle ends at once`() throws {
        let host = try TestHost(["hang": "exports = () => new Promise(() => {})"])
        #expect(
            #expect(throws: FunctionFailure.self) { try host.call("hang").get() }?.message.contains(
                "nothing will settle") == true)
    }

    @Test func `a function that never returns is ended, and its host with it`() async throws {
        let host = try TestHost(["loop": "exports = () => { for (;;) {} }"])
        let failure = #expect(throws: FunctionFailure.self) { try host.call("loop", cpuLimit: 0.1).get() }
        #expect(failure?.code == .executionTimeLimitExceeded)
        #expect(await host.child.wait() == .exited(0))
    }

    @Test func `an array bomb is ended at the memory limit`() throws {
        let host = try TestHost(
            ["bomb": "exports = () => { const a = []; for (;;) a.push({ a: [1] }) }"], memoryLimit: 300 << 20)
        #expect(
            #expect(throws: FunctionFailure.self) { try host.call("bomb", cpuLimit: 20).get() }?.code
                == .memoryLimitExceeded)
    }

    @Test func `a host ends when its parent does`() async throws {
        let child = try TestHost([:]).child
        #expect(await child.wait() != .exited(1))
    }

    @Test func `a source is checked without being run`() throws {
        let host = try TestHost([:])
        #expect(try host.check("exports = function() { return 1 }") == nil)
        let failure = try host.check("exports = function() {\n  return (1;\n}")
        #expect(failure?.code == .functionSyntaxError)
        #expect(failure?.line == 2)
    }
}
