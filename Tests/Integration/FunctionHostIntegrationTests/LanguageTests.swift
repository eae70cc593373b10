import DocumentModel
import FunctionProtocol
import Testing

/// JavaScript as App Services ran it, in the forms that exported apps contain.
struct LanguageTests {
    @Test func `a function may assign undeclared names, and they don't outlive the request`() throws {
        let host = try TestHost([
            "sloppy": "exports = function () { for (i = 0; i < 3; i++) {} result = i; return typeof leaked + result }",
            "leak": "exports = () => { leaked = 1; with ({ a: 2 }) { return a + 010 } }",
        ])
        #expect(try host.call("leak").get().intValue == 10)
        #expect(try host.call("sloppy").get().stringValue == "undefined3")
    }

    @Test func `a called function's globals and prototypes are there in the caller's next line`() throws {
        let host = try TestHost([
            "include": """
            exports = function () {
              shout = text => text.toUpperCase() + "!";
              Object.prototype.isMine = function () { return true };
              Array.prototype.last = function () { return this[this.length - 1] };
              String.prototype.twice = function () { return this + this };
              Date.prototype.year = function () { return this.getUTCFullYear() };
              Promise.prototype.quietly = function () { return this.catch(() => "quiet") };
              Number.prototype.half = function () { return this / 2 };
              BSON.ObjectId.prototype.short = function () { return this.toString().slice(0, 4) };
            }
            """,
            "main": """
            exports = async function () {
              context.functions.execute("include");
              const users = context.services.get("mongodb-atlas").db("D").collection("User");
              return [
                shout("hi"), [1, 2].last(), "a".twice(), new Date(0).year(), (5).half(), {}.isMine(),
                BSON.ObjectId("0123456789abcdef01234567").short(), await Promise.reject(1).quietly(),
                (await users.find().toArray()).last().name.twice(), Object.keys({ a: 1 }).length
              ];
            }
            """,
            "after":
                "exports = () => typeof shout + typeof [].last + typeof 'a'.twice + typeof BSON.ObjectId.prototype.short",
        ])
        let result = try host.call("main") { _ in .success(.array([["name": "Ada"]])) }.get()
        let expected: [Value] = [
            "HI!", .int32(2), "aa", .int32(1970), .double(2.5), .bool(true), "0123", "quiet", "AdaAda", .int32(1),
        ]
        #expect(result.isIdentical(to: .array(expected)), "\(result)")
        #expect(try host.call("after").get().stringValue == "undefinedundefinedundefinedundefined")
    }

    @Test func `a called function answers at once and with the object itself`() throws {
        let host = try TestHost([
            "counter": """
            exports = function (start) {
              class Counter { constructor(n) { this.n = n } next() { return ++this.n } get value() { return this.n } }
              return new Counter(start);
            }
            """,
            "adder": "exports = a => b => a + b",
            "main": """
            exports = function () {
              const counter = context.functions.execute("counter", 4);
              counter.next();
              const isPromise = context.functions.execute("adder", 1) instanceof Promise;
              return { value: counter.value, sum: context.functions.execute("adder", 1)(2), isPromise };
            }
            """,
        ])
        let result = try host.call("main").get()
        #expect(result.isIdentical(to: ["value": .int32(5), "sum": .int32(3), "isPromise": .bool(false)]), "\(result)")
    }

    @Test func `an unknown function is found out in a try block by the error's text`() throws {
        let host = try TestHost([
            "main":
                "exports = () => { try { return context.functions.execute('optional') } catch (error) { return error.message } }"
        ])
        #expect(try host.call("main").get().stringValue?.contains("function not found") == true)
    }

    @Test func `BSON's types are made with and without new, and the console takes several values`() throws {
        let host = try TestHost([
            "main": """
            exports = () => {
              console.log("found", 2, { a: BSON.ObjectId("0123456789abcdef01234567") }, [1], null, undefined, true);
              return [BSON.ObjectId().toString().length, BSON.Double(2), new BSON.Int32(3), BSON.Long(4),
                new BSON.Decimal128("1.5"), BSON.Binary.fromBase64("aGk=").text(), new BSON.ObjectId() instanceof BSON.ObjectId]
            }
            """
        ])
        let result = try host.call("main").get()
        let decimal = try ExtendedJSON.parse(#"{"$numberDecimal":"1.5"}"#)
        let expected: [Value] = [.int32(24), .double(2), .int32(3), .int64(4), decimal, "hi", .bool(true)]
        #expect(result.isIdentical(to: .array(expected)), "\(result)")
        #expect(host.logs == [#"log: found 2 {"a":{"$oid":"0123456789abcdef01234567"}} [1] null undefined true"#])
    }

    @Test func `a Timestamp is made of its parts, and numbers are written and read with a radix`() throws {
        let host = try TestHost([
            "times": """
            exports = () => [new BSON.Timestamp({ t: 7, i: 2 }), BSON.Timestamp(7, 2), BSON.Timestamp(BSON.Long(2, 7)),
              BSON.Timestamp({ t: BSON.Int32(7), i: 2 })]
            """,
            "texts": """
            exports = () => [BSON.Long(-255).toString(16), `${BSON.Long(255)}`, BSON.Int32(5).toString(2), BSON.Double(0.5).toString(2),
              String(BSON.Long.fromString("-ff", 16)), String(BSON.Long.fromString("7fffffffffffffff", false, 16)), String(BSON.Long.fromString("12"))]
            """,
        ])
        let time = try ExtendedJSON.parse(#"{"$timestamp":{"t":7,"i":2}}"#)
        #expect(try host.call("times").get() == .array(Array(repeating: time, count: 4)))
        #expect(
            try host.call("texts").get()
                == ["-ff", "255", "101", "0.1", "-255", "9223372036854775807", "12"])
    }

    @Test(arguments: [
        ("636166c3a920ff21", "café \u{FFFD}!"), ("e4e282ac", "\u{FFFD}€"), ("e28241f09f98", "\u{FFFD}A\u{FFFD}"),
        ("eda080c080", "\u{FFFD}\u{FFFD}\u{FFFD}\u{FFFD}\u{FFFD}"), ("f09f9880ff", "😀\u{FFFD}"),
    ])
    func `of bytes that aren't all UTF-8 a text has the rest as it is`(_ digits: String, _ expected: String) throws {
        let host = try TestHost([
            "main": """
            exports = digits => {
              const bytes = BSON.Binary.fromHex(digits), many = BSON.Binary.fromHex("c3a9".repeat(10_000) + digits);
              return [bytes.text(), many.text().replace("é".repeat(10_000), ""), new TextDecoder().decode(bytes.buffer)];
            }
            """
        ])
        #expect(
            try host.call("main", [.string(digits)]).get()
                == .array(Array(repeating: .string(expected), count: 3)))
    }

    @Test func `an ObjectId is made of digits or of 12 bytes, and compared with both`() throws {
        let host = try TestHost([
            "main": #"""
            exports = () => {
              const { ObjectId } = BSON, id = ObjectId("68656C6C6F20776F726C6421"), bytes = Uint8Array.from("hello world!", c => c.charCodeAt(0));
              const failed = value => { try { return String(ObjectId(value)) } catch (error) { return error.name } };
              return [
                [id, ObjectId("hello world!"), new ObjectId(bytes), ObjectId([...bytes]), ObjectId(id), ObjectId(new String(id))].map(String),
                ["68656C6C6F20776F726C6421", "68656c6c6f20776f726c6421", "hello world!", bytes, new String(id), ObjectId(id)].map(x => id.equals(x)),
                ["hello world", 5, null, undefined, {}, bytes.subarray(6), "68656c6c6f20776f726c642x"].map(x => id.equals(x) || ObjectId.isValid(x)),
                [id, "hello world!", String(id).toUpperCase(), bytes].map(ObjectId.isValid),
                ["hello world", "hello wörld", bytes.subarray(6), 5, "68656c6c6f20776f726c642x"].map(failed),
                [String(ObjectId.createFromTime(1700000000)), ObjectId.createFromTime(1).getTimestamp().getTime(),
                  String(ObjectId.createFromHexString("68656C6C6F20776F726C6421"))],
              ];
            }
            """#
        ])
        let id: Value = "68656c6c6f20776f726c6421", (no, yes) = (Value.bool(false), Value.bool(true))
        let result = try host.call("main").get()
        #expect(
            result
                == .array([
                    .array(Array(repeating: id, count: 6)), .array(Array(repeating: yes, count: 6)),
                    .array(Array(repeating: no, count: 7)), .array(Array(repeating: yes, count: 4)),
                    .array(Array(repeating: "TypeError", count: 5)),
                    ["6553f1000000000000000000", .int32(1000), id],
                ]), "\(result)")
    }

    @Test func `a bulk operation is one bulkWrite, ordered or not`() throws {
        let host = try TestHost([
            "main": """
            exports = async () => {
              const users = context.services.get("mongodb-atlas").db("D").collection("User");
              const bulk = users.initializeUnorderedBulkOp();
              bulk.find({ a: 1 }).upsert().updateOne({ $set: { b: 2 } });
              bulk.find({ c: 1 }).removeOne();
              bulk.insert({ _id: 5 });
              const result = await bulk.execute();
              const ordered = users.initializeOrderedBulkOp();
              ordered.find({ d: 1 }).update({ $set: { e: 1 } });
              await ordered.execute();
              try { await users.initializeOrderedBulkOp().execute() } catch (error) { return [result.nModified, error.message] }
            }
            """
        ])
        let result = try host.call("main") { _ in .success(["modifiedCount": .int32(1)]) }.get()
        #expect(host.effects.map(\.action) == ["bulkWrite", "bulkWrite"])
        let operations = try ExtendedJSON.parse(
            #"[{"updateOne":{"filter":{"a":1},"upsert":true,"update":{"$set":{"b":2}}}},{"deleteOne":{"filter":{"c":1}}},{"insertOne":{"document":{"_id":5}}}]"#
        )
        #expect(host.effects[0].arguments["operations"]?.isIdentical(to: operations) == true, "\(host.effects[0])")
        #expect(host.effects.map { $0.arguments["ordered"]?.boolValue } == [false, true])
        #expect(result.arrayValue?[0].intValue == 1)
        #expect(result.arrayValue?[1].stringValue == "Invalid BulkOperation, Batch cannot be empty")
    }

    @Test func `a projection, a session in its place, and a misspelt option are taken for what they mean`() throws {
        let host = try TestHost([
            "main": """
            exports = async () => {
              const client = context.services.get("mongodb-atlas"), users = client.db("D").collection("User");
              const session = client.startSession();
              await users.findOne({ a: 1 }, { name: 1 });
              await users.findOne({ a: 1 }, { session });
              await users.find({}, { name: 1 }, { session }).toArray();
              await users.updateOne({ a: 1 }, { $set: { b: 1 } }, { $upsert: true });
              await users.findOneAndUpdate({ a: 1 }, { $set: { b: 1 } }, { returnNewDocument: true });
              await users.updateOne({ a: 1 }, { $set: { b: 1 } }, null);
              const cursor = await users.find({});
              return { first: await cursor.next(), cursor: users.aggregate([]), promise: users.count() };
            }
            """
        ])
        let result = try host.call("main") { effect in
            effect.action == "find" || effect.action == "aggregate"
                ? .success(.array([.int32(1), .int32(2)])) : .success(.int32(7))
        }.get()
        let effects = host.effects.map(\.arguments)
        #expect(effects[0]["projection"]?.documentValue?["name"]?.intValue == 1)
        #expect(effects[1]["projection"] == nil)
        #expect(effects[1]["session"]?.intValue == 0)
        #expect(effects[2]["session"]?.intValue == 0)
        #expect(effects[3].fields.map(\.key).contains { $0.contains("upsert") } == false)
        #expect(effects[4]["returnNewDocument"]?.boolValue == true)
        #expect(host.logs == ["warn: updateOne has no option '$upsert': it is ignored"])
        let expected: Value = [
            "first": .int32(1), "cursor": .array([.int32(1), .int32(2)]), "promise": .int32(7),
        ]
        #expect(result.isIdentical(to: expected), "\(result)")
    }

    /// JSON would leave it out, and the filter match more than was meant.
    @Test func `a condition that is undefined is refused wherever it is, and nothing is sent`() throws {
        let calls = [
            "deleteMany({ owner: undefined })", "deleteMany({ a: { $in: [1, undefined] } })", "deleteMany({ a: [,] })",
            "deleteMany({ owner: () => 1 })", "deleteMany({ owner: Symbol() })",
            "deleteMany({ $or: [{ a: { $gt: undefined } }] })",
            "deleteMany(new Query())", "deleteMany({ a: new Query() })", "deleteMany(new Map([['owner', undefined]]))",
            "deleteMany({ a: { $in: new Set([undefined]) } })", "deleteMany({ toEJSON: () => ({ owner: undefined }) })",
            "deleteMany(Promise.resolve({ a: 1 }))", "find(() => 1).toArray()", "count(new Query())",
            "distinct('a', new Query())",
            "find(new Query()).explain()", "updateOne({}, { $pull: { items: { owner: undefined } } })",
            "updateOne({}, { $pull: new Query() })", "findOneAndUpdate({}, { $pull: { items: undefined } })",
            "updateMany({}, { $set: { 'a.$[e]': 1 } }, { arrayFilters: [{ 'e.id': undefined }] })",
            "updateMany({}, { $set: { 'a.$[e]': 1 } }, { arrayFilters: [new Query()] })",
            "aggregate([{ $match: new Query() }]).toArray()",
            "aggregate([{ $match: { a: { b: undefined } } }]).explain()",
            "aggregate([{ $facet: { a: [{ $match: { x: undefined } }] } }]).toArray()",
            "aggregate([{ $lookup: { from: 'b', as: 'b', pipeline: [{ $match: { x: undefined } }] } }]).toArray()",
            "aggregate([{ $unionWith: { coll: 'b', pipeline: [{ $match: { x: undefined } }] } }]).toArray()",
            "aggregate([{ $geoNear: { near: [1, 1], distanceField: 'd', query: { x: undefined } } }]).toArray()",
            "aggregate([{ $graphLookup: { from: 'b', restrictSearchWithMatch: { x: undefined } } }]).toArray()",
            "bulkWrite([{ deleteMany: { filter: new Query() } }])",
            "bulkWrite([{ updateOne: { filter: {}, update: { $pull: { a: { b: undefined } } } } }])",
            "bulkWrite([{ updateOne: { filter: {}, update: { $set: { b: 1 } }, arrayFilters: [{ e: undefined }] } }])",
        ]
        let host = try TestHost([
            "main": """
            class Query { owner = undefined }
            const items = context.services.get("mongodb-atlas").db("D").collection("Item");
            exports = async () => {
              const results = [];
              for (const call of [\(calls.map { "() => items.\($0)" }.joined(separator: ", "))]) {
                try { await call(); results.push(String(call)) }
                catch (error) { results.push(error.name + " " + error.code + error.message.startsWith("cannot compare to ")) }
              }
              return results;
            }
            """
        ])
        let results = try #require(host.call("main").get().arrayValue)
        #expect(results.count == calls.count)
        #expect(results.filter { $0 != "MongoDBError 2true" } == [])
        #expect(host.effects.isEmpty)
    }

    @Test func `what a document sets to undefined is left out, as is an argument`() throws {
        let host = try TestHost([
            "main": """
            class Item { _id = 1; a = undefined; filter = { b: undefined } }
            exports = async () => {
              const items = context.services.get("mongodb-atlas").db("D").collection("Item");
              await items.insertOne(new Item());
              await items.insertMany([{ _id: 1, query: { $match: { a: undefined } } }]);
              await items.updateOne({ a: 1 }, { $set: { a: undefined, b: [undefined], $pull: { c: undefined } } },
                { arrayFilters: undefined });
              await items.replaceOne({ a: 1 }, { filter: { a: undefined } });
              await items.aggregate([{ $match: { a: 1 } }, { $project: { b: undefined } }]).toArray();
              await items.bulkWrite([{ insertOne: { document: new Item() } }]);
              await items.deleteOne(undefined);
            }
            """
        ])
        _ = try host.call("main") { _ in .success(.array([])) }.get()
        let effects = host.effects.map(\.arguments)
        try #require(effects.count == 7)
        #expect(effects[0]["document"] == ["_id": .int32(1), "filter": [:]])
        #expect(effects[1]["documents"] == [["_id": .int32(1), "query": ["$match": [:]]]])
        #expect(effects[2]["update"] == ["$set": ["b": [.null], "$pull": [:]]])
        #expect(effects[3]["replacement"] == ["filter": [:]])
        #expect(effects[4]["pipeline"] == [["$match": ["a": .int32(1)]], ["$project": [:]]])
        #expect(effects[5]["operations"] == [["insertOne": ["document": ["_id": .int32(1), "filter": [:]]]]])
        #expect(effects[6]["filter"] == nil)
    }

    /// A function may pass the options of its caller on.
    @Test func `options replace no argument of a call`() throws {
        let host = try TestHost([
            "main": """
            exports = async options => {
              const items = context.services.get("mongodb-atlas").db("D").collection("Item"), mine = { owner: "me" }, set = { $set: { a: 1 } };
              await items.updateOne(mine, set, options);
              await items.updateMany(mine, set, options);
              await items.replaceOne(mine, { a: 1 }, options);
              await items.deleteOne(mine, options);
              await items.deleteMany(mine, options);
              await items.findOneAndUpdate(mine, set, options);
              await items.findOneAndReplace(mine, { a: 1 }, options);
              await items.findOneAndDelete(mine, options);
              await items.insertOne({ _id: 1 }, options);
              await items.insertMany([{ _id: 1 }], options);
              await items.findOne(mine, { a: 1 }, options);
              await items.find(mine, { a: 1 }, options).toArray();
              await items.find(mine, { a: 1 }, options).explain();
              await items.aggregate([{ $match: mine }], options).toArray();
              await items.count(mine, options);
              await items.countDocuments(mine, options);
              await items.estimatedDocumentCount(options);
              await items.distinct("a", mine, options);
              await items.bulkWrite([{ deleteOne: { filter: mine } }], options);
              const bulk = items.initializeOrderedBulkOp();
              bulk.find(mine).remove();
              await bulk.execute(options);
            }
            """
        ])
        let names = [
            "database", "collection", "filter", "query", "update", "replacement", "document", "documents", "pipeline",
            "operations", "field",
        ]
        let options = Document(fields: names.map { .init($0, "theirs") } + [.init("maxTimeMS", .int32(5))])
        _ = try host.call("main") { _ in .success(.array([])) }.get()
        let (without, logs) = (host.effects, host.logs)
        _ = try host.call("main", [.document(options)]) { _ in .success(.array([])) }.get()
        let effects = host.effects.dropFirst(without.count)
        #expect(without.count == 20 && effects.count == 20 && logs.isEmpty)
        for (effect, plain) in zip(effects, without) {
            var arguments = effect.arguments
            #expect(arguments["maxTimeMS"]?.intValue == 5, "\(effect.action)")
            arguments["maxTimeMS"] = nil
            #expect(arguments == plain.arguments, "\(effect.action)")
        }
        #expect(host.logs.contains("warn: updateMany has no option 'filter': it is ignored"))
    }

    @Test func `a cursor's methods and a projection win over options, and a session is one of its client's`() throws {
        let host = try TestHost([
            "main": """
            exports = async () => {
              const items = context.services.get("mongodb-atlas").db("D").collection("Item");
              await items.find({}, { a: 1 }, { limit: 100, skip: 100, sort: { b: 1 }, projection: { secret: 1 } })
                .limit(5).skip(6).sort({ c: 1 }).toArray();
              await items.find({}, null, { projection: { a: 1 } }).toArray();
              await items.find({}, { a: 1 }).project({ b: 1 }).toArray();
              await items.aggregate([], { hint: "theirs" }).hint("mine").toArray();
              try { await items.deleteOne({}, { session: { id: 0 } }) } catch (error) { return error.message }
            }
            """
        ])
        let message = try host.call("main") { _ in .success(.array([])) }.get().stringValue
        #expect(message == "deleteOne needs a session that startSession has made")
        let effects = host.effects.map(\.arguments)
        #expect(effects.count == 4)
        #expect(effects[0]["limit"]?.intValue == 5 && effects[0]["skip"]?.intValue == 6)
        #expect(effects[0]["sort"] == ["c": .int32(1)] && effects[0]["projection"] == ["a": .int32(1)])
        #expect(effects[1]["projection"] == ["a": .int32(1)])
        #expect(effects[2]["projection"] == ["b": .int32(1)])
        #expect(effects[3]["hint"] == "mine")
    }

    @Test func `a function that answers an endpoint describes its response`() throws {
        let host = try TestHost([
            "answer": """
            exports = function ({ query, headers, body }, response) {
              response.setStatusCode(201);
              response.setHeader("Content-Type", "application/json");
              response.addHeader("X-A", 1);
              response.addHeader("x-a", "2");
              response.setBody(JSON.stringify({ name: query.name, sent: body.text() }));
              return "result";
            }
            """,
            "silent": "exports = async (request, response) => {}",
            "wrong": "exports = (request, response) => { response.setBody({ a: 1 }) }",
        ])
        let request: Value = [
            "query": ["name": "Ada"], "headers": [:], "body": .binary(Binary(Array("hi".utf8), subtype: 0)),
        ]
        let answer = try host.call("answer", [request], givesResponse: true).get()
        let expected: Value = [
            "result": "result",
            "response": [
                "statusCode": .int32(201),
                "headers": ["Content-Type": .array(["application/json"]), "X-A": .array(["1", "2"])],
                "body": #"{"name":"Ada","sent":"hi"}"#, "isSet": true,
            ],
        ]
        #expect(answer.isIdentical(to: expected), "\(answer)")
        let silent = try host.call("silent", [request], givesResponse: true).get()
        let unset: Value = ["response": ["statusCode": .int32(200), "headers": [:], "isSet": false]]
        #expect(silent.isIdentical(to: unset), "\(silent)")
        let failure = #expect(throws: FunctionFailure.self) {
            try host.call("wrong", [request], givesResponse: true).get()
        }
        #expect(failure?.message.contains("JSON.stringify") == true)
    }

    @Test func `context.http takes a URL, its parts, objects as body, cookies and credentials`() throws {
        let host = try TestHost([
            "main": """
            exports = async () => {
              await context.http.get("https://a.example/x");
              await context.http.post({ url: "https://a.example/", body: { n: 1 }, encodeBodyAsJSON: true, headers: { "X-A": ["1"] } });
              await context.http.put({ url: "https://a.example/", body: "text" });
              await context.http.get({ scheme: "https", host: "a.example", path: "/p", query: { q: ["a b", "c"] }, username: "u",
                password: "p", digestAuth: true });
              await context.http.delete({ host: "a.example", username: "u", password: "p", cookies: { c: "1" } });
              await context.http.post({ url: "https://a.example/", body: { a: 1, b: ["x", true], c: undefined }, form: true });
              await context.services.get("http").post({ url: "https://a.example/", form: { file: BSON.Binary.fromText("bytes") },
                headers: { "Content-Type": ["multipart/form-data"], "X-N": 5, cookie: "a=b" }, cookies: "c=d", authUrl: "https://b.example/" });
              await context.http.post({ url: "https://a.example/", body: 5, encodeBodyAsJSON: true });
              const messages = [];
              for (const wrong of [{ form: {}, body: "x" }, { form: true, body: "x" }, { form: "x" }, { form: { a: { b: 1 } } }]) {
                try { await context.http.post({ url: "https://a.example/", ...wrong }) } catch (error) { messages.push(error.message) }
              }
              return messages.join("; ");
            }
            """
        ])
        let message = try host.call("main").get().stringValue
        let effects = host.effects.map(\.arguments)
        #expect(
            effects.map { $0["url"]?.stringValue } == [
                "https://a.example/x", "https://a.example/", "https://a.example/", "https://a.example/p?q=a%20b&q=c",
                "http://a.example", "https://a.example/", "https://a.example/", "https://a.example/",
            ])
        #expect(effects[1]["encodeBodyAsJSON"]?.boolValue == true)
        #expect(effects[1]["body"]?.documentValue?["n"]?.intValue == 1)
        #expect(effects[2]["body"]?.stringValue == "text")
        #expect(effects[3]["digestAuth"]?.boolValue == true)
        #expect(effects[3]["username"]?.stringValue == "u")
        let headers = effects[4]["headers"]?.documentValue
        #expect(headers?["Authorization"]?.arrayValue?.first?.stringValue == "Basic dTpw")
        #expect(headers?["Cookie"]?.arrayValue?.first?.stringValue == "c=1")
        let form: Value = ["a": "1", "b": .array(["x", "true"])]
        #expect(effects[5]["form"] == form)
        #expect(effects[5]["body"] == nil)
        #expect(effects[6]["form"]?["file"] == .binary(Binary(Array("bytes".utf8), subtype: 0)))
        #expect(effects[6]["authUrl"] == "https://b.example/")
        let sent: Value = [
            "Content-Type": .array(["multipart/form-data"]), "X-N": .array(["5"]), "Cookie": .array(["a=b; c=d"]),
        ]
        #expect(effects[6]["headers"] == sent)
        #expect(effects[7]["body"]?.intValue == 5 && effects[7]["encodeBodyAsJSON"] == true)
        #expect(
            message == """
                context.http: form and body can't be used together; context.http: form: true needs an object as body; \
                context.http: form must be a document or true; \
                context.http: the form's a must be a text, a number or bytes, or a list of these
                """)
    }
}
