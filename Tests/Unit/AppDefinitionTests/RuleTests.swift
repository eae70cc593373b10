import AppDefinition
import DocumentModel
import Testing

@Suite struct RuleTests {
    static let user = RuleUser(
        id: "64f0000000000000000000aa", data: ["email": "ann@example.org"],
        customData: ["teams": ["red", "blue"], "level": 3],
        identities: [["id": "1", "provider_type": "local-userpass"]])

    static let context = RuleContext(
        user: user, partition: "user=64f0000000000000000000aa",
        root: [
            "owner": "64f0000000000000000000aa",
            "ownerId": .objectId(ObjectId(hexString: "64f0000000000000000000aa") ?? ObjectId()),
            "score": 42, "shared": ["bob", "64f0000000000000000000aa"], "members": [["name": "ann"], ["name": "bob"]],
            "nothing": .null, "withNull": [.null], "withNull2": [.null, "x"], "deep": ["er": ["est": true]],
        ],
        previousRoot: ["score": 41], arguments: ["n": 5],
        values: ["admins": ["64f0000000000000000000aa"], "limit": 40],
        environmentTag: "production", environmentValues: ["region": "eu"])

    static func outcome(_ json: String, in context: RuleContext = context) async throws -> RuleOutcome {
        let rule = try RuleExpression(try ExtendedJSON.parse(json))
        return try await rule.outcome(in: context) { name, arguments in
            switch name {
            case "yes": RuleFunctionResult(true, referencedUser: false)
            case "no": RuleFunctionResult(false)
            case "echo": RuleFunctionResult(arguments.first ?? .null)
            default: throw NotFound()
            }
        }
    }

    @Test(arguments: [
        ("true", true), ("false", false), ("{}", true),
        (#"{"owner": "%%user.id"}"#, true), (#"{"owner": "somebody"}"#, false),
        (#"{"owner": "%%user.id", "score": 42}"#, true), (#"{"owner": "%%user.id", "score": 43}"#, false),
        (#"{"%%root.owner": "%%user.id"}"#, true), (#"{"%%user.id": "%%root.owner"}"#, true),
        (#"{"deep.er.est": true}"#, true), (#"{"members.0.name": "ann"}"#, true),
        (#"{"%%user.data.email": "ann@example.org"}"#, true), (#"{"%%user.type": "normal"}"#, true),
        (#"{"%%user.identities.0.provider_type": "local-userpass"}"#, true),
        (#"{"%%partition": "user=64f0000000000000000000aa"}"#, true),
        (#"{"%%user.custom_data.teams": ["red", "blue"]}"#, true),
        (#"{"shared": "%%user.id"}"#, true), (#"{"shared": "ann"}"#, false), (#"{"shared": ["bob"]}"#, false),
        (#"{"shared": {"%ne": "%%user.id"}}"#, false), (#"{"shared": {"$in": ["x", "%%user.id"]}}"#, true),
        (#"{"shared": {"$nin": ["%%user.id"]}}"#, false), (#"{"shared": {"$in": ["x"]}}"#, false),
        (#"{"%%user.custom_data.teams": "red"}"#, true), (#"{"%%user.custom_data.teams": "green"}"#, false),
        (#"{"%%user.custom_data.teams": {"$in": ["blue", "green"]}}"#, true),
        (#"{"%%user.id": "%%root.shared"}"#, true), (#"{"%%user.id": "%%values.admins"}"#, true),
        (#"{"%%user.data.email": "%%root.shared"}"#, false), (#"{"score": [42, 43]}"#, false),
        (#"{"red": {"%exists": false}}"#, true), (#"{"score": {"$exists": true}}"#, true),
        (#"{"score": {"%exists": "%%false"}}"#, false),
        (#"{"score": {"$gt": 41, "$lt": 43}}"#, true), (#"{"score": {"$gte": 42, "$lte": 41}}"#, false),
        (#"{"score": {"$gt": "%%values.limit"}}"#, true), (#"{"score": {"$gt": "a"}}"#, false),
        (#"{"score": {"$gt": "%%prevRoot.score"}}"#, true),
        (#"{"score": {"%ne": 41}}"#, true), (#"{"score": {"$eq": {"$numberLong": "42"}}}"#, true),
        (#"{"%%user.id": {"$in": "%%values.admins"}}"#, true), (#"{"%%user.id": {"%in": "%%root.shared"}}"#, true),
        (#"{"%%user.id": {"$nin": "%%root.shared"}}"#, false), (#"{"score": {"$in": [1, 42]}}"#, true),
        (#"{"score": {"$nin": [1, 2]}}"#, true), (#"{"score": {"$nin": "%%values.limit"}}"#, false),
        (#"{"%or": [{"owner": "x"}, {"score": 42}]}"#, true), (#"{"$or": []}"#, false), (#"{"%and": []}"#, true),
        (#"{"%nor": [{"owner": "x"}, {"score": 1}]}"#, true), (#"{"%not": {"owner": "x"}}"#, true),
        (#"{"%%args.n": {"%and": [{"$gt": 0}, {"$lte": 42}]}}"#, true), (#"{"%%args.n": {"%not": {"$gt": 0}}}"#, false),
        (#"{"%%args.n": {"%or": [{"$gt": 9}, {"$lt": 6}]}}"#, true),
        (#"{"ownerId": {"%stringToOid": "%%user.id"}}"#, true),
        (#"{"owner": {"%oidToString": "%%root.ownerId"}}"#, true),
        (#"{"owner": {"%stringToOid": "%%user.id"}}"#, false),
        (#"{"%%environment.tag": "production", "%%environment.values.region": "eu"}"#, true),
        (#"{"%%true": {"%function": {"name": "yes", "arguments": []}}}"#, true),
        (#"{"%%true": {"%function": {"name": "no"}}}"#, false), (#"{"%function": {"name": "yes"}}"#, true),
        (#"{"%%false": {"%function": {"name": "no"}}}"#, true),
        (#"{"score": {"%function": {"name": "echo", "arguments": ["%%root.score"]}}}"#, true),
        (#"{"%%user.id": {"$in": {"%function": {"name": "echo", "arguments": ["%%root.shared"]}}}}"#, true),
        (#"{"%%true": {"%and": [{"owner": "%%user.id"}, {"%function": {"name": "yes"}}]}}"#, true),
        (#"{"%%false": {"%or": [{"owner": "x"}]}}"#, true), (#"{"%%true": {"%%user.id": "x"}}"#, false),
        (#"{"%%prevRoot": {"%exists": true}}"#, true), (#"{"%%this": {"%exists": false}}"#, true),
    ])
    func `an expression holds as App Services defines it`(json: String, holds: Bool) async throws {
        #expect(try await RuleTests.outcome(json).holds == holds)
    }

    @Test(arguments: [
        #"{"missing": "%%user.custom_data.missing"}"#, #"{"%%user.custom_data.team": "%%root.team"}"#,
        #"{"missing": {"$in": []}}"#,
        #"{"missing": {"$in": ["%%user.custom_data.missing"]}}"#, #"{"missing": {"$lt": 5}}"#,
        #"{"nothing": "%%root.missing"}"#, #"{"nothing": {"$in": ["%%user.custom_data.missing", "x"]}}"#,
        #"{"nothing": {"%in": [{"%stringToOid": "%%user.custom_data.missing"}]}}"#,
        #"{"withNull": ["%%user.custom_data.missing"]}"#,
        #"{"withNull": {"$in": [["%%user.custom_data.missing"]]}}"#,
        #"{"withNull": "%%root.nothing"}"#, #"{"nothing": "%%root.withNull"}"#,
        #"{"withNull": {"$in": "%%root.withNull2"}}"#,
        #"{"missing": "%%root.withNull"}"#, #"{"missing": {"$in": "%%root.withNull"}}"#,
        #"{"missing": {"%stringToOid": "no id"}}"#, #"{"missing": {"%exists": "%%root.missing"}}"#,
    ])
    func `a missing value never grants access`(json: String) async throws {
        #expect(try await !RuleTests.outcome(json).holds)
    }

    @Test func `only an explicit null equals a missing value`() async throws {
        #expect(try await RuleTests.outcome(#"{"missing": null}"#).holds)
        #expect(try await RuleTests.outcome(#"{"nothing": null}"#).holds)
        #expect(try await !RuleTests.outcome(#"{"missing": "%%root.nothing"}"#).holds)
        #expect(try await RuleTests.outcome(#"{"missing": {"%in": ["%%user.id", null]}}"#).holds)
        #expect(try await RuleTests.outcome(#"{"missing": {"%in": ["x", null]}}"#).holds)
        #expect(try await !RuleTests.outcome(#"{"missing": {"%nin": ["x", null]}}"#).holds)
    }

    @Test(arguments: [
        (#"{"%%partition": null}"#, true), (#"{"%%partition": {"%in": ["%%user.id", null]}}"#, true),
        (#"{"%%partition": "%%user.id"}"#, false), (#"{"%%partition": {"%exists": true}}"#, true),
        (#"{"%%partition": {"$ne": "all"}}"#, true),
        (#"{"%%true": {"%function": {"name": "isNull", "arguments": ["%%partition"]}}}"#, true),
    ])
    func `the null partition's value is null`(json: String, holds: Bool) async throws {
        var context = RuleTests.context
        context.partition = .null
        let rule = try RuleExpression(try ExtendedJSON.parse(json))
        let outcome = try await rule.outcome(in: context) { _, arguments in
            RuleFunctionResult(.bool(arguments == [.null]))
        }
        #expect(outcome.holds == holds)
    }

    @Test(arguments: [
        (#"{"%%partition": "all"}"#, false), (#"{"%%partition": {"$in": ["user=x"]}, "%%user.id": "x"}"#, false),
        (#"{"%%partition": "%%user.id"}"#, true), (#"{"%or": [true, {"%%user.id": "x"}]}"#, false),
        (#"{"%%true": {"%function": {"name": "yes"}}}"#, false), (#"{"%%true": {"%function": {"name": "no"}}}"#, true),
        ("true", false),
    ])
    func `an answer says whether it depended on the user`(json: String, depended: Bool) async throws {
        #expect(try await RuleTests.outcome(json).referencedUser == depended)
    }

    @Test func `a rule without a user finds none`() async throws {
        var context = RuleTests.context
        context.user = nil
        #expect(try await !RuleTests.outcome(#"{"owner": "%%user.id"}"#, in: context).holds)
    }

    @Test func `a function's failure is thrown to the caller, who denies`() async throws {
        await #expect(throws: NotFound.self) { try await RuleTests.outcome(#"{"%function": {"name": "broken"}}"#) }
    }

    @Test(arguments: [
        ("5", "", DefinitionProblem.Code.ruleInvalid), (#"{"%xor": []}"#, "/%xor", .ruleOperatorUnknown),
        (#"{"a": {"$like": 1}}"#, "/a/$like", .ruleOperatorUnknown), (#"{"%%me": 1}"#, "/%%me", .ruleExpansionUnknown),
        (#"{"a": "%%me.id"}"#, "/a", .ruleExpansionUnknown), (#"{"%or": {}}"#, "/%or", .ruleInvalid),
        (#"{"a": {"$in": 5}}"#, "/a/$in", .ruleInvalid), (#"{"a": {"$gt": 1, "b": 2}}"#, "/a/b", .ruleInvalid),
        (#"{"a": {"%function": "yes"}}"#, "/a/%function", .ruleInvalid),
    ])
    func `a broken expression names its fault`(json: String, pointer: String, code: DefinitionProblem.Code) throws {
        let value = try ExtendedJSON.parse(json)
        let error = #expect(throws: RuleSyntaxError.self) { try RuleExpression(value) }
        #expect(error?.issues.first?.pointer == pointer)
        #expect(error?.issues.first?.code == code)
    }

    @Test func `endless nesting is refused`() throws {
        var value: Value = true
        for _ in 0..<90 { value = .document(["%not": value]) }
        let nested = value
        #expect(throws: RuleSyntaxError.self) { try RuleExpression(nested) }
    }
}
