import AppDefinition
import DocumentModel
import QueryLanguage
import SyncEngine
import Testing

/// The filter that a query gets from the rules finds all that the rules show.
@Suite struct RuleReachTests {
    private static let user = RuleUser(
        id: "ann", data: ["email": "ann@x"],
        customData: [
            "team": "a", "teams": ["a", "b", 1], "level": 3, "isAdmin": false, "nothing": .null,
            "pattern": .regex(RegularExpression("a")),
        ])

    private func reach(of roles: String, user: RuleUser = user) async throws -> (Document?, DocumentRules, RuleRequest)
    {
        var files = AppFixture.files
        files.texts["data_sources/mongodb-atlas/Shop/Order/rules.json"] = #"{"roles": \#(roles)}"#
        let app = AppDefinition.inspect(files).definition
        let rules = try #require(DocumentRules(of: .init(database: "Shop", collection: "Order"), in: app))
        let request = RuleRequest(context: RuleContext(app: app, user: user)) { _, arguments in
            RuleFunctionResult(.bool(arguments.first == "a"))
        }
        return (try await rules.restriction(of: request).reach, rules, request)
    }

    @Test(
        arguments: [
            (#"[{"name": "r", "apply_when": {"owner": "%%user.id"}, "read": true}]"#, ["owner": "ann"]),
            (#"[{"name": "r", "apply_when": {}, "read": true}]"#, nil),
            (#"[{"name": "r", "apply_when": {}, "read": {"owner": "%%user.id"}, "write": false}]"#, ["owner": "ann"]),
            (
                #"[{"name": "r", "apply_when": {}, "document_filters": {"read": {"owner": "%%user.id"}, "write": {"editor": "%%user.id"}}, "read": true}]"#,
                ["$or": [["owner": "ann"], ["editor": "ann"]]]
            ),
            (#"[{"name": "r", "apply_when": {"%%user.id": "%%root.owner"}, "read": true}]"#, ["owner": "ann"]),
            (
                #"[{"name": "r", "apply_when": {"%%user.id": {"$in": "%%root.members"}}, "read": true}]"#,
                ["members": "ann"]
            ),
            (
                #"[{"name": "r", "apply_when": {"team": "%%user.custom_data.teams"}, "read": true}]"#,
                ["team": ["$in": [["a", "b", 1], "a", "b", 1]]]
            ),
            (
                #"[{"name": "r", "apply_when": {"%and": [{"level": {"$lte": "%%user.custom_data.level"}}, {"%%user.custom_data.team": "a"}]}, "read": true}]"#,
                ["level": ["$lte": 3]]
            ),
            (
                #"[{"name": "admin", "apply_when": {"%%user.custom_data.isAdmin": true}, "read": true}, {"name": "r", "apply_when": {"owner": "%%user.id"}, "read": true}]"#,
                ["owner": "ann"]
            ),
            (
                #"[{"name": "r", "apply_when": {"owner": "%%user.custom_data.absent"}, "read": true}]"#,
                DocumentRules.Restriction.nothing
            ),
            (
                #"[{"name": "r", "apply_when": {"%%true": {"%function": {"name": "f", "arguments": ["%%root.owner"]}}}, "read": true}]"#,
                nil
            ),
            (#"[{"name": "r", "apply_when": {"place.city": "x"}, "read": true}]"#, nil),
            (#"[{"name": "r", "apply_when": {"owner": "%%user.custom_data.pattern"}, "read": true}]"#, nil),
            (#"[{"name": "r", "apply_when": {}}]"#, DocumentRules.Restriction.nothing),
            (#"[{"name": "r", "apply_when": {}, "fields": {"owner": {"read": {"owner": "%%user.id"}}}}]"#, nil),
        ] as [(String, Document?)])
    func `what depends on the caller becomes a filter`(roles: String, expected: Document?) async throws {
        let (reach, _, _) = try await reach(of: roles)
        #expect(reach == expected)
    }

    @Test func `a long list narrows nothing, and a query by _id isn't narrowed`() async throws {
        let roles = #"[{"name": "r", "apply_when": {"team": "%%user.custom_data.teams"}, "read": true}]"#
        var user = Self.user
        user.customData["teams"] = .array((0..<300).map { .int32($0) })
        #expect(try await reach(of: roles, user: user).0 == nil)
        let (_, rules, request) = try await reach(
            of: #"[{"name": "r", "apply_when": {"owner": "%%user.id"}, "read": true}]"#)
        let restriction = try await rules.restriction(of: request)
        #expect(restriction.reaching([:]) == ["owner": "ann"])
        #expect(restriction.reaching(["a": 1]) == ["$and": [["a": 1], ["owner": "ann"]]])
        #expect(
            restriction.reaching(["$and": [["$text": ["$search": "tea"]], ["a": 1]]])
                == ["$and": [["$text": ["$search": "tea"]], ["a": 1], ["owner": "ann"]]])
        #expect(restriction.reaching(["_id": ["$gt": 1]]) == ["_id": ["$gt": 1]])
        #expect(restriction.reaching(["$and": [["_id": 1], ["v": 3]]]) == ["$and": [["_id": 1], ["v": 3]]])
    }

    @Test(arguments: 1...300 as ClosedRange<UInt64>)
    func `no document that the rules show is left out`(seed: UInt64) async throws {
        var source = Source(generator: SeededGenerator(seed: seed))
        let roles = "[" + (0..<source.pick([1, 2, 3])).map { _ in source.role() }.joined(separator: ",") + "]"
        let (reach, rules, request) = try await reach(of: roles)
        guard let reach else { return }
        let filter = try Filter(reach)
        for _ in 0..<60 {
            let document = source.document()
            guard try await rules.visible(document, to: request) != nil else { continue }
            #expect(filter.matches(document, now: 0), "seed \(seed): \(roles) shows \(document), \(reach) doesn't")
        }
    }

    /// Random rules and documents.
    private struct Source {
        var generator: SeededGenerator
        private static let names = ["owner", "members", "team", "level", "place"]

        mutating func pick<T>(_ values: [T]) -> T { values[Int.random(in: values.indices, using: &generator)] }

        mutating func operand() -> String {
            pick([
                #""%%user.id""#, #""%%user.custom_data.team""#, #""%%user.custom_data.teams""#,
                #""%%user.custom_data.level""#,
                #""%%user.custom_data.absent""#, #""%%user.custom_data.nothing""#, #""%%user.data""#,
                #""%%root.owner""#,
                #""%%root.members""#, #""%%prevRoot.owner""#, #""a""#, "3", "null", "true", #"["a", 3, null]"#,
                #"{"%stringToOid": "%%user.id"}"#, #"{"%function": {"name": "f", "arguments": ["%%root.team"]}}"#,
            ])
        }

        mutating func test() -> String {
            switch pick(Array(0..<9)) {
            case 0: #"{"$in": \#(operand())}"#
            case 1: #"{"%nin": \#(operand())}"#
            case 2: #"{"$ne": \#(operand())}"#
            case 3: #"{"$gt": \#(operand())}"#
            case 4: #"{"%lte": \#(operand())}"#
            case 5: #"{"$exists": \#(pick(["true", "false"]))}"#
            case 6: #"{"%not": \#(test())}"#
            default: operand()
            }
        }

        mutating func expression(_ depth: Int = 0) -> String {
            switch pick(Array(0..<(depth > 2 ? 6 : 10))) {
            case 0: pick(["true", "{}", "false"])
            case 1: #"{"%%user.id": \#(test())}"#
            case 2: #"{"%%user.custom_data.teams": \#(test())}"#
            case 3: #"{"place.city": \#(test())}"#
            case 6: #"{"%or": [\#(expression(depth + 1)), \#(expression(depth + 1))]}"#
            case 7: #"{"%and": [\#(expression(depth + 1)), \#(expression(depth + 1))]}"#
            case 8: #"{"%not": \#(expression(depth + 1))}"#
            case 9: #"{"%%\#(pick(["true", "false"]))": \#(expression(depth + 1))}"#
            default: #"{"\#(pick(Self.names))": \#(test())}"#
            }
        }

        mutating func role() -> String {
            var parts = [#""name": "r""#, #""apply_when": \#(expression())"#]
            if pick([true, false]) { parts.append(#""read": \#(expression())"#) }
            if pick([true, false]) { parts.append(#""write": \#(expression())"#) }
            if pick([true, false, false]) {
                parts.append(#""document_filters": {"\#(pick(["read", "write"]))": \#(expression())}"#)
            }
            if pick([true, false]) { parts.append(#""fields": {"owner": {"read": \#(expression())}}"#) }
            if pick([true, false, false]) { parts.append(#""additional_fields": {"read": true}"#) }
            return "{" + parts.joined(separator: ", ") + "}"
        }

        mutating func value() -> Value {
            pick([
                "ann", "a", "b", 1, 3, 3.0, .int64(3), .null, true, false, [], ["a"], [["a", "b", 1]], ["ann", .null],
                ["a", "b", 1],
                ["city": "a"], [["city": "a"], [["city": "b"]]], .document(["email": "ann@x"]), .double(.nan),
                .undefined, "z", 10,
            ])
        }

        mutating func document() -> Document {
            var document: Document = ["_id": 1]
            for name in Self.names where pick([true, true, false]) { document[name] = value() }
            return document
        }
    }
}
