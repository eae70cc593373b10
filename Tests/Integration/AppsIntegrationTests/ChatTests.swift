import AppDefinition
import DocumentModel
import DocumentStore
import TestSupport
import Testing

@Suite struct ChatTests {
    private static let id = "c0ffee"
    private static let partition = "conversation=c0ffee"

    @Test func `a new account gets its document, and all users get a mirror of it`() async throws {
        try await AppWorld.with("rchat") { world in
            let ann = try await world.register("ann")
            let user = try #require(try await world.user(ann))
            #expect(user["partition"] == "user=id-of-ann" && user["presence"] == "Off-Line")
            let mirror = try #require(try await world.collection("Chatster").findOne(["_id": .string(ann.id)]))
            #expect(mirror["partition"] == "all-users=all-the-users" && mirror["userName"] == "ann@rchat.example")

            let photo: Value = ["_id": "p1", "thumbNail": .binary(Binary([1, 2])), "picture": .binary(Binary([3]))]
            try await world.change(
                ann,
                ["$set": ["presence": "On-Line", "userPreferences": ["displayName": "Ann", "avatarImage": photo]]])
            try await world.settle()
            let changed = try #require(try await world.collection("Chatster").findOne(["_id": .string(ann.id)]))
            #expect(changed["presence"] == "On-Line" && changed["displayName"] == "Ann")
            #expect(changed["avatarImage"] == ["_id": "p1", "thumbNail": .binary(Binary([1, 2]))])
        }
    }

    @Test func `partitions open only for the right users`() async throws {
        try await AppWorld.with("rchat") { world in
            let ann = try await world.register("ann"), bob = try await world.register("bob")
            #expect(try await world.access(ann, "user=id-of-ann") == (true, true))
            #expect(try await world.access(bob, "user=id-of-ann") == (false, false))
            #expect(try await world.access(bob, "all-users=all-the-users") == (true, false))
            #expect(try await world.access(bob, "all-users=others") == (false, false))
            #expect(try await world.access(bob, Self.partition) == (false, false))
            #expect(try await world.access(bob, "nonsense") == (false, false))
        }
    }

    @Test func `an invited user gets the conversation, a removed one loses it, and the others see both`() async throws {
        try await AppWorld.with("rchat") { world in
            let ann = try await world.register("ann"), bob = try await world.register("bob")
            let cid = try await world.register("cid")
            try await world.change(ann, ["$push": ["conversations": AppWorld.conversation(Self.id, [ann, bob])]])
            #expect(try await world.access(ann, Self.partition) == (true, true))
            #expect(try await world.access(bob, Self.partition) == (false, false))
            try await world.settle()
            #expect(try await world.access(bob, Self.partition) == (true, true))
            #expect(try await world.access(cid, Self.partition) == (false, false))

            let filter: [Document] = [["c.id": .string(Self.id)]]
            try await world.change(
                bob, ["$push": ["conversations.$[c].members": AppWorld.member(cid)]], arrayFilters: filter)
            try await world.settle()
            let all = ["ann@rchat.example", "bob@rchat.example", "cid@rchat.example"]
            for user in [ann, bob, cid] { #expect(try await world.members(Self.id, of: user) == all) }

            try await world.change(
                ann, ["$pull": ["conversations.$[c].members": ["userName": "bob@rchat.example"]]], arrayFilters: filter)
            try await world.settle()
            #expect(try await world.conversation(Self.id, of: bob) == nil)
            #expect(try await world.access(bob, Self.partition) == (false, false))
            for user in [ann, cid] {
                #expect(try await world.members(Self.id, of: user) == ["ann@rchat.example", "cid@rchat.example"])
                #expect(try await world.access(user, Self.partition) == (true, true))
            }
        }
    }

    @Test func `a message counts as unread for all members but its author`() async throws {
        try await AppWorld.with("rchat") { world in
            let ann = try await world.register("ann"), bob = try await world.register("bob")
            let cid = try await world.register("cid")
            try await world.change(ann, ["$push": ["conversations": AppWorld.conversation(Self.id, [ann, bob, cid])]])
            try await world.change(ann, ["$push": ["conversations": AppWorld.conversation("other", [ann])]])
            try await world.settle()
            for number in 1...2 {
                _ = try await world.collection("ChatMessage").insertOne([
                    "_id": .string("m\(number)"), "partition": .string(Self.partition), "author": "bob@rchat.example",
                    "text": "hello", "timestamp": .date(1_700_000_000_000),
                ])
            }
            try await world.settle()
            #expect(try await world.conversation(Self.id, of: ann)?["unreadCount"] == 2)
            #expect(try await world.conversation(Self.id, of: cid)?["unreadCount"] == 2)
            #expect(try await world.conversation(Self.id, of: bob)?["unreadCount"] == 0)
            #expect(try await world.conversation("other", of: ann)?["unreadCount"] == 0)
        }
    }

    @Test func `a message without an author makes its trigger fail`() async throws {
        try await AppWorld.with("rchat") { world in
            _ = try await world.collection("ChatMessage").insertOne([
                "_id": "m1", "partition": .string(Self.partition), "text": "?", "timestamp": .date(0),
            ])
            await #expect(throws: (any Error).self) { try await world.settle() }
        }
    }

    @Test func `a user can't join a conversation by writing it into their own document`() async throws {
        try await AppWorld.with("rchat") { world in
            let ann = try await world.register("ann"), bob = try await world.register("bob")
            let eve = try await world.register("eve")
            try await world.change(ann, ["$push": ["conversations": AppWorld.conversation(Self.id, [ann, bob])]])
            try await world.settle()
            try await world.change(eve, ["$push": ["conversations": AppWorld.conversation(Self.id, [ann, bob, eve])]])
            #expect(try await world.access(eve, Self.partition) == (false, false))
            try await world.settle()
            #expect(try await world.conversation(Self.id, of: eve) == nil)
            #expect(try await world.members(Self.id, of: ann) == ["ann@rchat.example", "bob@rchat.example"])

            // Nor by taking another user's name.
            try await world.change(
                eve,
                [
                    "$set": ["userName": "bob@rchat.example"],
                    "$push": ["conversations": AppWorld.conversation(Self.id, [ann, bob])],
                ])
            #expect(try await world.access(eve, Self.partition) == (false, false))
            try await world.settle()
            #expect(try await world.user(eve)?["userName"] == "eve@rchat.example")
            #expect(try await world.conversation(Self.id, of: eve) == nil)
            #expect(try await world.access(bob, Self.partition) == (true, true))
        }
    }

    @Test func `a user who writes their documents anew doesn't get another user's invitations`() async throws {
        try await AppWorld.with("rchat") { world in
            let ann = try await world.register("ann"), bob = try await world.register("bob")
            let eve = try await world.register("eve")
            // As eve's device may: into the partition of its user.
            _ = try await world.collection("User").deleteOne(["_id": .string(eve.id)])
            try await world.settle()
            for id in [eve.id, "another"] {
                let chatster: Document = [
                    "_id": .string(id), "partition": "user=id-of-eve", "userName": "bob@rchat.example",
                ]
                _ = try? await world.collection("Chatster").insertOne(chatster)
            }
            _ = try await world.collection("User").insertOne([
                "_id": .string(eve.id), "partition": "user=id-of-eve", "userName": "bob@rchat.example",
                "conversations": [],
            ])
            try await world.settle()
            try await world.change(ann, ["$push": ["conversations": AppWorld.conversation(Self.id, [ann, bob])]])
            try await world.settle()
            #expect(try await world.user(eve)?["userName"] == "eve@rchat.example")
            #expect(try await world.conversation(Self.id, of: eve) == nil)
            #expect(try await world.conversation(Self.id, of: bob) != nil)
            #expect(try await world.access(eve, Self.partition) == (false, false))
        }
    }

    @Test func `a user who leaves or deletes the account is no longer a member`() async throws {
        try await AppWorld.with("rchat") { world in
            let ann = try await world.register("ann"), bob = try await world.register("bob")
            let cid = try await world.register("cid")
            try await world.change(ann, ["$push": ["conversations": AppWorld.conversation(Self.id, [ann, bob, cid])]])
            try await world.settle()
            try await world.change(ann, ["$pull": ["conversations": ["id": .string(Self.id)]]])
            try await world.settle()
            #expect(try await world.members(Self.id, of: bob) == ["bob@rchat.example", "cid@rchat.example"])
            _ = try await world.call(
                "deleteUserDocument", [["operationType": "DELETE", "user": .document(cid.document)]])
            try await world.settle()
            #expect(try await world.members(Self.id, of: bob) == ["bob@rchat.example"])
            #expect(try await world.collection("Chatster").findOne(["_id": .string(cid.id)]) == nil)
            #expect(try await world.access(bob, Self.partition) == (true, true))
        }
    }

    @Test(arguments: 1...4)
    func `whatever the order of the triggers, all copies agree in the end`(seed: UInt64) async throws {
        try await AppWorld.with("rchat") { world in
            var random = SeededGenerator(state: seed)
            let people = [
                try await world.register("ann"), try await world.register("bob"), try await world.register("cid"),
                try await world.register("dan"),
            ]
            try await world.change(people[0], ["$push": ["conversations": AppWorld.conversation(Self.id, people)]])
            try await world.settle(using: &random)
            let filter: [Document] = [["c.id": .string(Self.id)]]
            // Removed and invited again before any trigger has run, while another member leaves.
            let bob = people[1].data["email"] ?? .null
            try await world.change(
                people[0], ["$pull": ["conversations.$[c].members": ["userName": bob]]], arrayFilters: filter)
            try await world.change(
                people[0], ["$push": ["conversations.$[c].members": AppWorld.member(people[1])]], arrayFilters: filter)
            try await world.change(people[3], ["$pull": ["conversations": ["id": .string(Self.id)]]])
            try await world.settle(using: &random)
            for person in people.prefix(3) {
                #expect(
                    try await world.members(Self.id, of: person)
                        == ["ann@rchat.example", "bob@rchat.example", "cid@rchat.example"])
                #expect(try await world.access(person, Self.partition) == (true, true))
            }
            #expect(try await world.access(people[3], Self.partition) == (false, false))
        }
    }

    /// Without the journal that keeps a trigger's writes from happening twice.
    @Test func `all copies agree in the end, although each run of a trigger dies before each of its writes`()
        async throws
    {
        try await AppWorld.with("rchat") { world in
            let ann = try await world.register("ann"), bob = try await world.register("bob")
            let cid = try await world.register("cid")
            try await world.change(ann, ["$push": ["conversations": AppWorld.conversation(Self.id, [ann, bob])]])
            try await world.settle(doesCrash: true)
            let filter: [Document] = [["c.id": .string(Self.id)]]
            try await world.change(
                bob, ["$push": ["conversations.$[c].members": AppWorld.member(cid)]], arrayFilters: filter)
            try await world.settle(doesCrash: true)
            try await world.change(
                ann, ["$pull": ["conversations.$[c].members": ["userName": bob.data["email"] ?? .null]]],
                arrayFilters: filter)
            try await world.settle(doesCrash: true)
            for user in [ann, cid] {
                #expect(
                    try await world.members(Self.id, of: user) == ["ann@rchat.example", "cid@rchat.example"])
            }
            #expect(try await world.conversation(Self.id, of: bob) == nil)
        }
    }
}

/// SplitMix64 (Steele, Lea, Flood 2014).
struct SeededGenerator: RandomNumberGenerator {
    var state: UInt64

    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var mixed = state
        mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
        mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
        return mixed ^ (mixed >> 31)
    }
}
