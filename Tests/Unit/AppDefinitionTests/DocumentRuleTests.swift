import AppDefinition
import DocumentModel
import Testing

@Suite struct DocumentRuleTests {
    private static let namespace = ChangeEvent.Namespace(database: "Shop", collection: "Order")

    /// Rules of one collection, and the users who are checked.
    private struct Asked {
        let rules: DocumentRules
        let request: RuleRequest

        init(
            _ roles: String, filters: String = "[]", user: RuleUser = RuleUser(id: "ann"),
            functions: [String: @Sendable ([Value]) -> Value] = [:]
        ) throws {
            var files = AppFixture.files
            files.texts["data_sources/mongodb-atlas/Shop/Order/rules.json"] =
                #"{"roles": \#(roles), "filters": \#(filters)}"#
            let app = AppDefinition.inspect(files).definition
            rules = try #require(DocumentRules(of: namespace, in: app))
            request = RuleRequest(context: RuleContext(app: app, user: user)) { name, arguments in
                RuleFunctionResult(functions[name]?(arguments) ?? false)
            }
        }

        func visible(_ document: Document, naming filter: Document = [:]) async throws -> Document? {
            try await rules.visible(document, to: request, naming: NamedPaths(filter: filter))
        }

        func allows(_ before: Document?, _ after: Document?) async throws -> Bool {
            try await rules.refusal(before: before, after: after, to: request) == nil
        }
    }

    // MARK: Roles

    @Test func `the first role that applies to a document counts for it`() async throws {
        let asked = try Asked(
            """
            [{"name": "owner", "apply_when": {"owner": "%%user.id"}, "read": true, "write": true},
             {"name": "public", "apply_when": {"public": true}, "read": true, "write": false},
             {"name": "staff", "apply_when": {}, "read": false, "write": true}]
            """)
        #expect(try await asked.visible(["_id": 1, "owner": "ann"]) != nil)
        #expect(try await asked.visible(["_id": 1, "owner": "bob", "public": true]) != nil)
        #expect(try await asked.allows(["_id": 1, "owner": "ann"], ["_id": 1, "owner": "ann", "n": 1]))
        #expect(try await !asked.allows(["_id": 1, "public": true], ["_id": 1, "public": true, "n": 1]))
    }

    @Test func `a document without a role is out of reach`() async throws {
        let asked = try Asked(#"[{"name": "owner", "apply_when": {"owner": "%%user.id"}, "write": true}]"#)
        #expect(try await asked.visible(["_id": 1, "owner": "bob"]) == nil)
        #expect(try await !asked.allows(nil, ["_id": 1, "owner": "bob"]))
        #expect(try await !asked.allows(["_id": 1, "owner": "bob"], nil))
    }

    @Test func `a user who may write may read`() async throws {
        let asked = try Asked(#"[{"name": "writer", "apply_when": {}, "write": true}]"#)
        #expect(try await asked.visible(["_id": 1, "n": 2]) == ["_id": 1, "n": 2])
    }

    @Test func `insert and delete are allowed with write access, unless the role denies them`() async throws {
        let open = try Asked(#"[{"name": "all", "apply_when": {}, "write": true}]"#)
        #expect(try await open.allows(nil, ["_id": 1]))
        #expect(try await open.allows(["_id": 1], nil))
        let closed = try Asked(
            #"[{"name": "all", "apply_when": {}, "write": true, "insert": false, "delete": {"done": true}}]"#)
        #expect(try await !closed.allows(nil, ["_id": 1]))
        #expect(try await !closed.allows(["_id": 1, "done": false], nil))
        #expect(try await closed.allows(["_id": 1, "done": true], nil))
    }

    @Test func `a write must be allowed for the document as it was and as it will be`() async throws {
        let asked = try Asked(#"[{"name": "all", "apply_when": {}, "read": true, "write": {"owner": "%%user.id"}}]"#)
        let mine: Document = ["_id": 1, "owner": "ann"], others: Document = ["_id": 1, "owner": "bob"]
        #expect(try await asked.allows(mine, ["_id": 1, "owner": "ann", "n": 1]))
        #expect(try await !asked.allows(others, mine))
        #expect(try await !asked.allows(mine, others))
    }

    @Test func `an expression on the former document decides about the change`() async throws {
        let asked = try Asked(
            """
            [{"name": "all", "apply_when": {}, "read": true,
              "write": {"%%prevRoot.state": "open", "%%root.state": {"%in": ["open", "done"]}},
              "insert": {"%%prevRoot": {"%exists": false}}}]
            """)
        #expect(try await asked.allows(["state": "open"], ["state": "done"]))
        #expect(try await !asked.allows(["state": "done"], ["state": "open"]))
        #expect(try await !asked.allows(["state": "open"], ["state": "lost"]))
    }

    // MARK: Fields

    private static let partly = """
        [{"name": "colleague", "apply_when": {},
          "fields": {
            "salary": {"read": {"%%user.id": "boss"}, "write": {"%%user.id": "boss"}},
            "address": {"fields": {"city": {"read": true, "write": true}, "street": {"read": false}}},
            "rank": {"read": true, "write": {"%%this": {"%lt": 10}, "%%prev": {"%lt": 10}}}},
          "additional_fields": {"read": true, "write": true}}]
        """

    @Test func `fields that may not be read are removed, also nested ones`() async throws {
        let asked = try Asked(Self.partly)
        let document: Document = [
            "_id": 1, "name": "x", "salary": 100, "address": ["city": "Rome", "street": "Via", "zip": 1], "rank": 3,
        ]
        #expect(try await asked.visible(document) == ["_id": 1, "name": "x", "address": ["city": "Rome"], "rank": 3])
        let boss = try Asked(Self.partly, user: RuleUser(id: "boss"))
        #expect(try await boss.visible(document)?["salary"] == 100)
    }

    @Test func `permissions of embedded fields reach through arrays`() async throws {
        let asked = try Asked(Self.partly)
        let document: Document = ["_id": 1, "address": [["city": "Rome", "zip": 1], ["zip": 2], ["city": "Pisa"]]]
        #expect(try await asked.visible(document) == ["_id": 1, "address": [["city": "Rome"], ["city": "Pisa"]]])
    }

    @Test func `changed fields need their own permission`() async throws {
        let asked = try Asked(Self.partly)
        let before: Document = [
            "_id": 1, "name": "x", "salary": 1, "address": ["city": "Rome", "street": "a"], "rank": 3,
        ]
        func change(_ key: String, _ value: Value?) async throws -> Bool {
            var after = before
            after[key] = value
            return try await asked.allows(before, after)
        }
        #expect(try await change("name", "y"))
        #expect(try await change("new", 1))
        #expect(try await !change("salary", 2))
        #expect(try await !change("salary", nil))
        #expect(try await change("address", ["city": "Pisa", "street": "a"]))
        #expect(try await !change("address", ["city": "Rome", "street": "b"]))
        #expect(try await !change("address", nil))
        #expect(try await change("rank", 4))
        #expect(try await !change("rank", 11))
    }

    @Test func `a permission of the whole document wins over its fields`() async throws {
        let asked = try Asked(
            """
            [{"name": "all", "apply_when": {}, "read": true, "write": false, "fields": {"a": {"write": true}},
              "additional_fields": {"read": false, "write": true}}]
            """)
        #expect(try await asked.visible(["_id": 1, "a": 1, "b": 2]) == ["_id": 1, "a": 1, "b": 2])
        #expect(try await !asked.allows(["_id": 1, "a": 1], ["_id": 1, "a": 2]))
    }

    @Test func `a query doesn't find a document by a field that is hidden in it`() async throws {
        let asked = try Asked(Self.partly)
        let document: Document = ["_id": 1, "name": "x", "salary": 100, "address": ["city": "Rome", "street": "Via"]]
        #expect(try await asked.visible(document, naming: ["name": "x"]) != nil)
        #expect(try await asked.visible(document, naming: ["_id": 1]) != nil)
        #expect(try await asked.visible(document, naming: ["address.city": "Rome"]) != nil)
        for filter: Document in [
            ["salary": ["$gt": 50]], ["salary": ["$exists": false]], ["$or": [["name": "x"], ["salary": 1]]],
            ["address.street": "Via"], ["address": ["city": "Rome", "street": "Via"]],
            ["$expr": ["$gt": ["$salary", 1]]],
        ] {
            #expect(try await asked.visible(document, naming: filter) == nil)
        }
    }

    // MARK: Document filters, search

    @Test func `a query doesn't find a document by a part of an array that is hidden`() async throws {
        let asked = try Asked(
            """
            [{"name": "part", "apply_when": {}, "fields": {
              "items": {"fields": {"entry": {"read": {"%%this.owner": "%%user.id"}}}}}}]
            """, user: RuleUser(id: "me"))
        func document(_ owners: String...) -> Document {
            let items = owners.map { Value.document(["entry": ["owner": .string($0), "text": "secret"]]) }
            return ["_id": 1, "items": .array(items)]
        }
        let filter: Document = ["items.entry.text": "secret"]
        #expect(try await asked.visible(document("me", "me"), naming: filter) != nil)
        #expect(try await asked.visible(document("me", "you")) == document("me"))
        #expect(try await asked.visible(document("me", "you"), naming: filter) == nil)
        #expect(
            try await asked.visible(document("you", "me"), naming: ["items": ["$elemMatch": ["entry.text": "secret"]]])
                == nil)
    }

    @Test func `document filters decide whether the permissions are asked at all`() async throws {
        let asked = try Asked(
            """
            [{"name": "all", "apply_when": {}, "read": true, "write": true,
              "document_filters": {"read": {"room": "%%user.data.room"}, "write": {"room": "%%user.data.room", "open": true}}}]
            """, user: RuleUser(id: "ann", data: ["room": "a"]))
        #expect(try await asked.visible(["_id": 1, "room": "a", "open": false]) != nil)
        #expect(try await asked.visible(["_id": 1, "room": "b", "open": true]) == nil)
        #expect(try await asked.allows(["room": "a", "open": true], ["room": "a", "open": true, "n": 1]))
        #expect(try await !asked.allows(["room": "a", "open": false], ["room": "a", "open": false, "n": 1]))
        #expect(try await !asked.allows(nil, ["room": "b", "open": true]))
    }

    @Test func `a role may be kept from searching`() async throws {
        let asked = try Asked(#"[{"name": "all", "apply_when": {}, "read": true, "search": false}]"#)
        #expect(try await asked.rules.visible(["_id": 1], to: asked.request) != nil)
        #expect(try await asked.rules.visible(["_id": 1], to: asked.request, isSearch: true) == nil)
    }

    // MARK: Functions, filters, defaults

    @Test func `functions are called with the document's values`() async throws {
        let asked = try Asked(
            """
            [{"name": "member", "apply_when": {"%%true": {"%function": {"name": "isMember", "arguments": ["%%root.room"]}}},
              "read": true}]
            """, functions: ["isMember": { .bool($0 == ["a"]) }])
        #expect(try await asked.visible(["_id": 1, "room": "a"]) != nil)
        #expect(try await asked.visible(["_id": 1, "room": "b"]) == nil)
    }

    @Test func `filters that apply are added to the query, with their expansions resolved`() async throws {
        let asked = try Asked(
            #"[{"name": "all", "apply_when": {}, "read": true}]"#,
            filters: """
                [{"name": "mine", "apply_when": {"%%user.type": "normal"},
                  "query": {"owner": "%%user.id", "%or": [{"key": {"%stringToOid": "%%user.data.key"}}, {"n": {"$gt": 1}}]},
                  "projection": {"secret": 0}},
                 {"name": "not now", "apply_when": {"%%user.type": "server"}, "query": {"x": 1}}]
                """, user: RuleUser(id: "ann", data: ["key": "5f0000000000000000000001"]))
        let restriction = try await asked.rules.restriction(of: asked.request)
        let key = try #require(ObjectId(hexString: "5f0000000000000000000001"))
        let added: Document = ["owner": "ann", "$or": [["key": .objectId(key)], ["n": ["$gt": 1]]]]
        #expect(restriction.queries == [added])
        #expect(restriction.projections == [["secret": 0]])
        #expect(restriction.restricting([:]) == added)
        #expect(restriction.restricting(["a": 1]) == ["$and": [["a": 1], .document(added)]])
    }

    @Test func `a filter that needs data that the user doesn't have matches nothing`() async throws {
        let asked = try Asked(
            #"[{"name": "all", "apply_when": {}, "read": true}]"#,
            filters: #"[{"name": "team", "apply_when": {}, "query": {"team": "%%user.custom_data.team"}}]"#)
        #expect(try await asked.rules.restriction(of: asked.request).queries == [["_id": ["$in": []]]])
    }

    @Test func `a collection without roles uses the default ones, if there are any`() async throws {
        var files = AppFixture.files
        let place = ChangeEvent.Namespace(database: "Any", collection: "Thing")
        #expect(DocumentRules(of: place, in: AppDefinition.inspect(files).definition) == nil)
        files.texts["data_sources/mongodb-atlas/default_rule.json"] =
            #"{"roles": [{"name": "all", "apply_when": {}, "read": true}]}"#
        #expect(DocumentRules(of: place, in: AppDefinition.inspect(files).definition) != nil)
    }
}
