import DocumentModel
import DocumentStore
import FunctionProtocol
import Functions
import TestSupport
import Testing

/// What a user may not read affects nothing that the user can observe. Each operation runs twice, with a right guess of what
/// is hidden and with a wrong one: the answers must be identical.
@Suite struct RuledSecretTests {
    private static let right = "078-05-1120", wrong = "219-09-9999"

    /// Ann is the clerk of `mine`, some fields of which are hidden from her; `others` is out of her reach.
    private static let files: [Document] = [
        [
            "_id": "mine", "clerk": "ann", "open": "a", "n": .int32(1), "list": [1, 2],
            "profile": ["name": "Hilda", "age": 40, "ssn": .string(right)], "ssn": .string(right),
            "long": .string(right + String(repeating: "a", count: 60) + "c"),
        ],
        ["_id": "others", "clerk": "bob", "open": "b", "n": .int32(2), "ssn": .string(right)],
    ]
    private static let cards: [Document] = [
        [
            "_id": 1, "open": "a", "ssn": .string(right), "profile": ["name": "Hilda", "ssn": .string(right)],
            "list": [["name": "x", "ssn": .string(right)], ["name": "y", "ssn": "z"]],
            "long": .string(right + String(repeating: "a", count: 60) + "c"),
        ],
        [
            "_id": 2, "open": "b", "ssn": "z", "profile": ["name": "Whitcher", "ssn": "z"],
            "list": [["name": "z", "ssn": "0"]],
        ],
    ]

    private func with(_ body: @Sendable (RuledFixture) async throws -> Void) async throws {
        try await RuledFixture.with { fixture in
            try await fixture.collection("File").insertMany(Self.files)
            try await fixture.collection("Card").insertMany(Self.cards)
            try await body(fixture)
        }
    }

    /// The answer to a call, or its error with all of its text.
    private func outcome(_ fixture: RuledFixture, _ action: String, _ collection: String, _ arguments: Document) async
        -> String
    {
        do {
            return "\(try await fixture.call("ann", action, collection, arguments))"
        } catch {
            let failure = EffectFailure(error)
            return "\(failure.name) \(failure.code ?? 0): \(failure.message) \(failure.details)"
        }
    }

    private func filters(_ guess: String) -> [Document] {
        let ssn = Value.string(guess)
        let hit: Value = ["$eq": ["$ssn", ssn]]
        return [
            ["ssn": ssn], ["ssn": ["$gte": ssn]], ["ssn": ["$ne": ssn]], ["$nor": [["ssn": ssn]]],
            ["$or": [["open": "none"], ["ssn": ssn]]], ["_id": "mine", "profile.ssn": ssn],
            ["profile": ["name": "Hilda", "age": 40, "ssn": ssn]], ["profile": ["$eq": ["name": "Hilda", "ssn": ssn]]],
            ["profile.ssn": ["$in": [ssn]]], ["list.0.ssn": ssn], ["list": ["$elemMatch": ["ssn": ssn]]],
            ["list": [["name": "x", "ssn": ssn], ["name": "y", "ssn": "z"]]],
            ["$expr": hit], ["$expr": ["$divide": [1, ["$cond": [hit, 0, 1]]]]],
            ["$and": [["open": "a"], ["$expr": ["$divide": [1, ["$cond": [hit, 0, 1]]]]]]],
            ["$expr": ["$eq": ["$$ROOT.profile.ssn", ssn]]],
            // Gives up on a text that begins as the guess does.
            ["long": ["$regex": .string("^" + guess + "(a*)*[bd]")]], ["profile.ssn": ["$regex": .string("^" + guess)]],
            ["long": ["$not": .regex(RegularExpression("^" + guess + "(a|aa)+$"))]],
        ]
    }

    private static func writes(_ filter: Document) -> [(String, Document)] {
        let filter = Value.document(filter), update: Value = ["$set": ["open": "c"]], file: Value = ["open": "c"]
        return [
            ("updateOne", ["filter": filter, "update": update]), ("updateMany", ["filter": filter, "update": update]),
            ("updateOne", ["filter": filter, "update": [["$set": ["open": "c"]]]]),
            ("replaceOne", ["filter": filter, "replacement": file]), ("deleteOne", ["filter": filter]),
            ("deleteMany", ["filter": filter]), ("findOneAndUpdate", ["filter": filter, "update": update]),
            ("findOneAndReplace", ["filter": filter, "replacement": file, "returnNewDocument": true]),
            ("findOneAndDelete", ["filter": filter]),
            ("bulkWrite", ["operations": [["updateOne": ["filter": filter, "update": update]]]]),
            ("bulkWrite", ["operations": [["deleteMany": ["filter": filter]]]]),
        ]
    }

    // MARK: Reading

    @Test func `no query tells a right guess of a hidden field from a wrong one`() async throws {
        try await with { fixture in
            for collection in ["File", "Card"] {
                for (hit, miss) in zip(filters(Self.right), filters(Self.wrong)) {
                    let pairs = [hit, miss].map { filter -> [(String, Document)] in
                        let query = Value.document(filter)
                        let lookup: Value = [
                            "from": .string(collection), "as": "found", "pipeline": [["$match": query]],
                        ]
                        return [
                            ("find", ["filter": query]), ("findOne", ["filter": query]), ("count", ["filter": query]),
                            ("distinct", ["field": "open", "filter": query]),
                            ("aggregate", ["pipeline": [["$match": query]]]),
                            ("aggregate", ["pipeline": [["$sort": ["open": 1]], ["$match": query]]]),
                            ("aggregate", ["pipeline": [["$lookup": lookup]]]),
                            (
                                "aggregate",
                                [
                                    "pipeline": [
                                        ["$unionWith": ["coll": .string(collection), "pipeline": [["$match": query]]]]
                                    ]
                                ]
                            ),
                        ]
                    }
                    for (asked, other) in zip(pairs[0], pairs[1]) {
                        let answer = await outcome(fixture, asked.0, collection, asked.1)
                        #expect(
                            answer == (await outcome(fixture, other.0, collection, other.1)),
                            "\(collection) \(asked.0) \(asked.1)")
                        #expect(!answer.contains(Self.right), "\(collection) \(asked.0) \(asked.1)")
                    }
                }
            }
        }
    }

    @Test func `no result that is computed from documents contains what is hidden in them`() async throws {
        try await with { fixture in
            let calls: [(String, Document)] = [
                ("find", [:]), ("find", ["projection": ["x": "$profile.ssn", "y": "$ssn", "z": "$$ROOT", "list": 1]]),
                ("distinct", ["field": "profile.ssn"]), ("distinct", ["field": "profile"]),
                ("distinct", ["field": "ssn"]), ("distinct", ["field": "list.ssn"]),
                ("aggregate", ["pipeline": [["$group": ["_id": "$profile", "all": ["$push": "$$ROOT"]]]]]),
                ("aggregate", ["pipeline": [["$replaceWith": ["x": "$profile.ssn", "y": "$$CURRENT"]]]]),
                ("aggregate", ["pipeline": [["$sortByCount": "$profile.ssn"]]]),
                ("aggregate", ["pipeline": [["$facet": ["all": [["$match": [:]]]]]]]),
            ]
            for collection in ["File", "Card"] {
                for (action, arguments) in calls {
                    let answer = await outcome(fixture, action, collection, arguments)
                    #expect(!answer.contains(Self.right), "\(collection) \(action) \(arguments): \(answer)")
                }
            }
        }
    }

    @Test func `a field that is hidden inside another doesn't affect an order`() async throws {
        try await with { fixture in
            for path in ["profile.ssn", "ssn", "list.ssn"] {
                for direction in [1, -1] as [Int32] {
                    let sort: Value = [path: .int32(direction), "_id": 1]
                    let found = try await fixture.call("ann", "find", "Card", ["sort": sort])
                    #expect(found.arrayValue?.map { $0["_id"] } == [1, 2], "\(path) \(direction)")
                }
            }
            // What isn't hidden still finds and orders.
            #expect(try await fixture.call("ann", "count", "Card", ["filter": ["profile.name": "Hilda"]]) == .int64(1))
            let byName = try await fixture.call("ann", "find", "Card", ["sort": ["profile.name": -1]])
            #expect(byName.arrayValue?.map { $0["_id"] } == [2, 1])
        }
    }

    @Test func `a search finds nothing by what is hidden`() async throws {
        try await with { fixture in
            for (path, count) in [
                ("open", 1), ("ssn", 0), ("profile.ssn", 0), ("profile", 0), (["wildcard": "*"], 0),
                (["open", "ssn"], 0),
            ] as [(Value, Int)] {
                let search: Document = ["$search": ["text": ["query": .string("a " + Self.right), "path": path]]]
                for collection in ["File", "Card"] {
                    let found = try await fixture.call(
                        "ann", "aggregate", collection, ["pipeline": [.document(search)]])
                    #expect(found.arrayCount == count, "\(collection) \(path)")
                }
            }
        }
    }

    // MARK: Writing

    @Test func `no write tells a right guess of a hidden field from a wrong one`() async throws {
        try await with { fixture in
            let stored = fixture.collection("File")
            for (hit, miss) in zip(filters(Self.right), filters(Self.wrong)) {
                for (asked, other) in zip(Self.writes(hit), Self.writes(miss)) {
                    var answers: [String] = []
                    for (action, arguments) in [asked, other] {
                        answers.append(await outcome(fixture, action, "File", arguments))
                        #expect(try await stored.countDocuments(["ssn": .string(Self.right)]) == 2)
                        for file in Self.files { _ = try await stored.replaceOne(["_id": file["_id"] ?? .null], file) }
                    }
                    #expect(answers[0] == answers[1], "\(asked.0) \(asked.1)")
                }
            }
        }
    }

    @Test func `for writes a document out of reach doesn't exist`() async throws {
        try await with { fixture in
            for (asked, other) in zip(Self.writes(["_id": "others"]), Self.writes(["_id": "nobody"])) {
                let answer = await outcome(fixture, asked.0, "File", asked.1)
                #expect(answer == (await outcome(fixture, other.0, "File", other.1)), "\(asked.0)")
                #expect(!answer.contains("NoMatchingRuleFound"), "\(asked.0): \(answer)")
            }
            let left = try await fixture.collection("File").findOne(["_id": "others"])
            #expect(left == Self.files[1])
        }
    }

    @Test(
        arguments: [
            ["$set": ["ssn": .string(right)]], ["$set": ["profile.ssn": .string(right)]],
            ["$set": ["profile": ["name": "Hilda", "age": 40, "ssn": .string(right)]]], ["$inc": ["ssn": 1]],
            ["$push": ["ssn": 1]], ["$max": ["ssn": "9"]], ["$unset": ["profile": ""]], ["$rename": ["open": "ssn"]],
            ["$set": ["ssn.x": 1]], [["$set": ["ssn": .string(right)]]], [["$set": ["ssn": "$open"]]],
        ] as [Value])
    func `an update of a hidden field is refused, whatever its value`(update: Value) async throws {
        try await with { fixture in
            let call: Document = ["filter": ["_id": "mine"], "update": update]
            let before = await outcome(fixture, "updateOne", "File", call)
            #expect(before.hasPrefix("NoMatchingRuleFound"), "\(update): \(before)")
            #expect(try await fixture.collection("File").findOne(["_id": "mine"]) == Self.files[0])
            for change: Value in [
                ["$set": ["ssn": 7, "profile.ssn": "other"]], ["$unset": ["ssn": "", "profile.ssn": ""]],
            ] {
                _ = try await fixture.collection("File").updateOne(["_id": "mine"], change)
                #expect(before == (await outcome(fixture, "updateOne", "File", call)), "\(update) after \(change)")
            }
        }
    }

    @Test(
        arguments: [
            ["$rename": ["ssn": "open"]], ["$rename": ["profile.ssn": "open"]], [["$set": ["open": "$ssn"]]],
            [["$set": ["open": "$profile.ssn"]]], [["$set": ["open": "$profile"]]], [["$set": ["open": "$$ROOT"]]],
            [["$replaceWith": ["open": ["$objectToArray": "$$ROOT"]]]], [["$unset": ["ssn", "profile.ssn"]]],
            ["$unset": ["ssn": "", "profile.ssn": ""]],
            [["$set": ["open": ["$cond": [["$eq": ["$ssn", .string(right)]], 1, 2]]]]],
        ] as [Value])
    func `an update that copies, moves or removes hidden fields finds nothing there`(update: Value) async throws {
        try await with { fixture in
            let call: Document = ["filter": ["_id": "mine"], "update": update, "returnNewDocument": true]
            let answer = await outcome(fixture, "findOneAndUpdate", "File", call)
            #expect(!answer.contains(Self.right), "\(update): \(answer)")
            let left = try await fixture.collection("File").findOne(["_id": "mine"])
            #expect(left?["ssn"] == .string(Self.right) && left?["profile"] == Self.files[0]["profile"], "\(update)")
            let shown = ExtendedJSON.print(left?["open"] ?? .null)
            #expect(!shown.contains(Self.right), "\(update): \(shown)")
            // The same with another secret answers the same.
            _ = try await fixture.collection("File").replaceOne(
                ["_id": "mine"],
                [
                    "clerk": "ann", "open": "a", "n": .int32(1), "list": [1, 2],
                    "profile": ["name": "Hilda", "age": 40],
                ])
            #expect(answer == (await outcome(fixture, "findOneAndUpdate", "File", call)), "\(update)")
        }
    }

    @Test func `a user who sees a part of a document changes and replaces only that part`() async throws {
        try await with { fixture in
            func mine() async throws -> Document? { try await fixture.collection("File").findOne(["_id": "mine"]) }
            var expected = Self.files[0]
            let changed = try await fixture.call(
                "ann", "updateOne", "File",
                [
                    "filter": ["profile.name": "Hilda"],
                    "update": [
                        "$set": ["profile.name": "Ada", "profile.age": 41], "$inc": ["n": .int32(1)],
                        "$push": ["list": 3],
                    ],
                ])
            #expect(changed["modifiedCount"]?.intValue == 1)
            expected["n"] = .int32(2)
            expected["list"] = [1, 2, 3]
            expected["profile"] = ["name": "Ada", "age": 41, "ssn": .string(Self.right)]
            #expect(try await mine() == expected)
            let replaced = try await fixture.call(
                "ann", "findOneAndReplace", "File",
                [
                    "filter": ["_id": "mine"], "returnNewDocument": true,
                    "replacement": ["_id": "mine", "clerk": "ann", "open": "new", "profile": ["name": "Eva"]],
                ])
            #expect(replaced == ["_id": "mine", "clerk": "ann", "open": "new", "profile": ["name": "Eva"]])
            let left = try await mine()
            #expect(left?["ssn"] == .string(Self.right))
            #expect(left?["profile"] == ["name": "Eva", "ssn": .string(Self.right)])
            #expect(left?["n"] == nil)
            #expect(
                await fixture.refusal(
                    "ann", "updateOne", "File", ["filter": ["_id": "mine"], "update": ["$set": ["clerk": "bob"]]])
                    == "NoMatchingRuleFound")
        }
    }

    @Test func `a delete doesn't tell whether a document hides something`() async throws {
        try await with { fixture in
            try await fixture.collection("Pad").insertMany([
                ["_id": 1, "text": "x"], ["_id": 2, "text": "x", "ssn": .string(Self.right)],
                ["_id": 3, "text": "x", "inner": ["a": 1]], ["_id": 4, "text": "x", "inner": ["a": 1, "b": 2]],
            ])
            var outcomes: Set<String> = []
            for id in 1...4 as ClosedRange<Int32> {
                for action in ["deleteOne", "findOneAndDelete"] {
                    outcomes.insert(await outcome(fixture, action, "Pad", ["filter": ["_id": .int32(id)]]))
                }
            }
            #expect(outcomes.count == 1, "\(outcomes)")
            #expect(outcomes.allSatisfy { $0.hasPrefix("NoMatchingRuleFound") }, "\(outcomes)")
        }
    }

    @Test func `an upsert by a hidden field inserts, whether a document has the value or not`() async throws {
        try await with { fixture in
            for guess in [Self.right, Self.wrong] {
                let result = try await fixture.call(
                    "ann", "updateOne", "Card",
                    ["filter": ["ssn": .string(guess)], "update": ["$set": ["open": "new"]], "upsert": true])
                #expect(result["matchedCount"]?.intValue == 0)
                #expect(result["upsertedId"] != nil)
                let inserted = try await fixture.collection("Card").findOne(["_id": result["upsertedId"] ?? .null])
                #expect(inserted?["ssn"] == .string(guess))
            }
        }
    }

    @Test func `a projection of the app's filters protects what it removes from writes`() async throws {
        try await with { fixture in
            for guess in [Self.right, Self.wrong] {
                let found = try await fixture.call(
                    "ann", "updateMany", "Card",
                    ["filter": ["profile.ssn": .string(guess)], "update": ["$set": ["open": "c"]]])
                #expect(found["matchedCount"]?.intValue == 0)
                for path in ["ssn", "profile.ssn"] {
                    #expect(
                        await fixture.refusal(
                            "ann", "updateOne", "Card",
                            ["filter": ["_id": 1], "update": ["$set": [path: .string(guess)]]])
                            == "NoMatchingRuleFound")
                }
            }
            let copied = try await fixture.call(
                "ann", "findOneAndUpdate", "Card",
                ["filter": ["_id": 1], "update": [["$set": ["open": "$profile"]]], "returnNewDocument": true])
            #expect(copied["open"] == ["name": "Hilda"])
            let left = try await fixture.collection("Card").findOne(["_id": 1])
            #expect(left?["profile"] == Self.cards[0]["profile"])
        }
    }

    @Test func `array filters see only the visible parts of elements`() async throws {
        try await with { fixture in
            for guess in [Self.right, Self.wrong] {
                let updated = try await fixture.call(
                    "ann", "findOneAndUpdate", "Card",
                    [
                        "filter": ["_id": 1], "update": ["$set": ["open": "c", "list.$[e].name": "hit"]],
                        "arrayFilters": [["e.ssn": .string(guess)]], "returnNewDocument": true,
                    ])
                #expect(updated["list"] == [["name": "x"], ["name": "y"]])
            }
            // What is cut out of the elements can't be written with them.
            let byName: Document = [
                "filter": ["_id": 1], "update": ["$set": ["list.$[e].name": "hit"]], "arrayFilters": [["e.name": "x"]],
            ]
            #expect(await fixture.refusal("ann", "updateOne", "Card", byName) == "NoMatchingRuleFound")
            #expect(try await fixture.call("ann", "count", "Card", ["filter": ["_id": 1, "open": "c"]]) == .int64(1))
        }
    }

    @Test func `joins find nothing by what is hidden in the other collection`() async throws {
        try await with { fixture in
            // What ann wrote herself, to hold it against what is hidden.
            try await fixture.collection("Note").insertMany([
                ["_id": 1, "owner": "ann", "text": .string(Self.right)],
                ["_id": 2, "owner": "ann", "text": .string(Self.wrong)],
            ])
            for (foreign, from) in [("ssn", "File"), ("profile.ssn", "File"), ("ssn", "Card"), ("list.ssn", "Card")] {
                let equal: Value = ["$expr": ["$eq": [.string("$" + foreign), "$$text"]]]
                for lookup: Document in [
                    [
                        "$lookup": [
                            "from": .string(from), "localField": "text", "foreignField": .string(foreign), "as": "x",
                        ]
                    ],
                    [
                        "$lookup": [
                            "from": .string(from), "let": ["text": "$text"], "pipeline": [["$match": equal]], "as": "x",
                        ]
                    ],
                    [
                        "$graphLookup": [
                            "from": .string(from), "startWith": "$text", "connectFromField": "open",
                            "connectToField": .string(foreign), "as": "x",
                        ]
                    ],
                ] {
                    let joined = try await fixture.call(
                        "ann", "aggregate", "Note", ["pipeline": [.document(lookup), ["$sort": ["_id": 1]]]])
                    #expect(joined[0]?["x"]?.arrayCount == 0, "\(from).\(foreign)")
                    #expect(joined[1]?["x"]?.arrayCount == 0, "\(from).\(foreign)")
                }
            }
        }
    }

    // MARK: Errors

    @Test func `errors reveal nothing that is hidden`() async throws {
        try await with { fixture in
            // Against the schema already, in a field that the clerk may not read.
            try await fixture.collection("File").createIndex(
                IndexModel([.init("n"), .init("ssn")], name: "secrets", unique: true))
            try await fixture.collection("File").insertOne([
                "_id": "twin", "clerk": "ann", "n": .int32(3), "ssn": .string(Self.right),
            ])
            for (action, arguments) in [
                ("updateOne", ["filter": ["_id": "mine"], "update": ["$set": ["n": .int32(3)]]]),
                (
                    "bulkWrite",
                    [
                        "operations": [
                            ["updateOne": ["filter": ["_id": "mine"], "update": ["$set": ["n": .int32(3)]]]]
                        ], "ordered": false,
                    ]
                ),
            ] as [(String, Document)] {
                let answer = await outcome(fixture, action, "File", arguments)
                #expect(answer.contains("E11000"), "\(answer)")
                #expect(!answer.contains(Self.right), "\(answer)")
            }
            let own = await outcome(
                fixture, "updateOne", "File", ["filter": ["_id": "mine"], "update": ["$set": ["n": "text"]]])
            #expect(own.hasPrefix("SchemaValidationFailedWrite"), "\(own)")
            #expect(own.contains("asks for int"), "\(own)")
        }
    }

    @Test func `a schema violation in a hidden field doesn't name it`() async throws {
        try await with { fixture in
            try await fixture.violate("mine", path: "old", with: "a secret text")
            let answer = await outcome(
                fixture, "updateOne", "File", ["filter": ["_id": "mine"], "update": ["$set": ["open": "c"]]])
            #expect(answer.hasPrefix("SchemaValidationFailedWrite"), "\(answer)")
            #expect(!answer.contains("old") && !answer.contains("string"), "\(answer)")
        }
    }
}
