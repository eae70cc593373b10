import AppDefinition
import DocumentModel
import DocumentStore
import FunctionProtocol
import TestSupport
import Testing

@Suite struct FindOurDevicesTests {
    private static let group = "c0ffee000000000000000001"

    private static func with(_ body: (AppWorld) async throws -> Void) async throws {
        try await AppWorld.with("findourdevices", body)
    }

    private func create(_ world: AppWorld, by owner: RuleUser, _ id: String = Self.group) async throws {
        try await world.call("createGroup", [["id": .string(id), "name": "Family"]], user: owner)
    }

    private func invite(_ world: AppWorld, _ user: RuleUser, by member: RuleUser, _ id: String = Self.group)
        async throws
    {
        try await world.call("invite", [["group": .string(id), "email": user.data["email"] ?? .null]], user: member)
    }

    private func answer(
        _ world: AppWorld, _ user: RuleUser, _ isAccepted: Bool = true, _ id: String = Self.group
    ) async throws {
        try await world.call(
            "answerInvitation", [["group": .string(id), "isAccepted": .bool(isAccepted)]], user: user)
    }

    private func join(_ world: AppWorld, _ user: RuleUser, of owner: RuleUser, _ id: String = Self.group) async throws {
        try await invite(world, user, by: owner, id)
        try await answer(world, user, true, id)
        try await world.settle()
    }

    private func setSharing(_ world: AppWorld, _ user: RuleUser, _ isSharing: Bool) async throws {
        try await world.call(
            "setSharing", [["group": .string(Self.group), "isSharing": .bool(isSharing)]], user: user)
    }

    private func remove(_ world: AppWorld, _ user: RuleUser, by caller: RuleUser) async throws {
        try await world.call(
            "removeMember", [["group": .string(Self.group), "user": .string(user.id)]], user: caller)
    }

    /// The longitudes at which a group sees a member's devices; `nil` when there is no such member.
    private func seen(_ world: AppWorld, _ user: RuleUser, _ id: String = Self.group) async throws -> [Double]? {
        let member = try await world.collection("Member").findOne(["_id": .string("\(id):\(user.id)")])
        return member?["devices"]?.documentValue?.fields.compactMap { $0.value["location"]?["longitude"]?.doubleValue }
            .sorted()
    }

    @discardableResult
    private func addDevice(_ world: AppWorld, of user: RuleUser, at longitude: Double) async throws -> Value {
        let id = Value.objectId(ObjectId())
        _ = try await world.collection("Device").insertOne([
            "_id": id, "partition": .string("device=\(user.id)"), "name": "phone", "location": place(longitude),
        ])
        return id
    }

    private func place(_ longitude: Double) -> Value {
        ["longitude": .double(longitude), "latitude": 1.0, "at": .date(0)]
    }

    private func move(_ world: AppWorld, _ device: Value, to longitude: Double) async throws {
        _ = try await world.collection("Device").updateOne(
            ["_id": device], .document(["$set": ["location": place(longitude)]]))
    }

    private func expectConsistent(_ world: AppWorld) async throws {
        for group in try await world.collection("Group").find() {
            let id = group["_id"]?.stringValue ?? ""
            let members = try await world.collection("Member").find(["partition": .string("group=\(id)")])
            #expect(group["memberCount"]?.intValue == members.count)
            let users = try await world.collection("User").find(["groups.id": .string(id)])
            #expect(
                Set(users.compactMap { $0["_id"]?.stringValue })
                    == Set(members.compactMap { $0["userID"]?.stringValue }))
        }
        for user in try await world.collection("User").find() {
            let groups = user["groups"]?.arrayValue?.compactMap { $0["id"]?.stringValue } ?? []
            #expect(Set(groups).count == groups.count, "\(user)")
            let known = try await world.collection("Group").countDocuments([
                "_id": ["$in": .array(groups.map { .string($0) })]
            ])
            #expect(known == groups.count)
        }
    }

    // MARK: Rights

    @Test func `only members see a group, and only functions write it`() async throws {
        try await Self.with { world in
            let ida = try await world.register("ida"), jon = try await world.register("jon")
            try await create(world, by: ida)
            #expect(try await world.access(ida, "group=\(Self.group)") == (true, false))
            #expect(try await world.access(ida, "user=\(ida.id)") == (true, false))
            #expect(try await world.access(ida, "device=\(ida.id)") == (true, true))
            for partition in ["group=\(Self.group)", "user=\(ida.id)", "device=\(ida.id)", "group=", "", "=", "group"] {
                #expect(try await world.access(jon, partition) == (false, false), "\(partition)")
            }
            try await invite(world, jon, by: ida)
            #expect(try await world.access(jon, "group=\(Self.group)") == (false, false))
            try await answer(world, jon)
            #expect(try await world.access(jon, "group=\(Self.group)") == (true, false))
            try await remove(world, jon, by: ida)
            #expect(try await world.access(jon, "group=\(Self.group)") == (false, false))
            // A removed member needs another invitation.
            await #expect(throws: FunctionFailure.self) { try await answer(world, jon) }
            try await expectConsistent(world)
        }
    }

    @Test func `an id without a right changes nothing, and tells nothing`() async throws {
        try await Self.with { world in
            let ida = try await world.register("ida"), jon = try await world.register("jon")
            let kai = try await world.register("kai")
            try await create(world, by: ida)
            try await join(world, jon, of: ida)
            for id in [Self.group, "000000000000000000000000"] {
                let calls: [(String, Document)] = [
                    ("invite", ["group": .string(id), "email": kai.data["email"] ?? .null]),
                    ("answerInvitation", ["group": .string(id), "isAccepted": true]),
                    ("removeMember", ["group": .string(id), "user": .string(jon.id)]),
                    ("setSharing", ["group": .string(id), "isSharing": true]),
                ]
                for (name, request) in calls {
                    await #expect(throws: FunctionFailure.self, "\(name)") {
                        try await world.call(name, [.document(request)], user: kai)
                    }
                }
            }
            await #expect(throws: FunctionFailure.self) { try await create(world, by: kai) }
            await #expect(throws: FunctionFailure.self) {
                try await world.call("deleteGroup", [["group": .string(Self.group)]], user: jon)
            }
            await #expect(throws: FunctionFailure.self) { try await remove(world, ida, by: jon) }
            await #expect(throws: FunctionFailure.self) { try await remove(world, ida, by: ida) }
            // The answer to an invitation doesn't tell who has an account.
            let known = try await world.call(
                "invite", [["group": .string(Self.group), "email": kai.data["email"] ?? .null]], user: jon)
            let unknown = try await world.call(
                "invite", [["group": .string(Self.group), "email": "nobody@example.com"]], user: jon)
            #expect(known == unknown)
            #expect(try await world.collection("Member").countDocuments() == 2)
            try await expectConsistent(world)
        }
    }

    @Test func `what a device may write can't pretend to be a membership, a group or an account`() async throws {
        try await Self.with { world in
            let kai = try await world.register("kai")
            let partition = Value.string("device=\(kai.id)")
            let forged: [(String, Document)] = [
                (
                    "Member",
                    [
                        "_id": .string("\(Self.group):\(kai.id)"), "partition": partition, "userID": .string(kai.id),
                        "name": "kai", "isSharing": true, "devices": [:],
                    ]
                ),
                (
                    "Group",
                    ["_id": .string(Self.group), "partition": partition, "name": "x", "owner": "x", "memberCount": 1]
                ),
                ("User", ["_id": "someone", "partition": partition, "email": "x", "groups": [], "invitations": []]),
                ("Device", ["_id": "devices.x", "partition": partition, "name": "x"]),
                (
                    "Device",
                    ["_id": .objectId(ObjectId()), "partition": partition, "name": "x", "location": place(500)]
                ),
            ]
            for (collection, document) in forged {
                let error = await #expect(throws: DocumentStoreError.self) {
                    try await world.collection(collection).insertOne(document)
                }
                #expect(error?.mongoCode == 121, "\(collection): \(error.map { "\($0)" } ?? "")")
            }
        }
    }

    @Test func `hostile arguments are refused with a reason`() async throws {
        try await Self.with { world in
            let ida = try await world.register("ida")
            try await create(world, by: ida)
            let hostile: [Value] = [
                .null, ["$ne": ""], [["$gt": ""]], .double(.nan), .bool(true), ["group": ["$exists": true]],
                .string(String(repeating: "x", count: 100_000)),
            ]
            let names = ["createGroup", "deleteGroup", "invite", "answerInvitation", "removeMember", "setSharing"]
            for value in hostile {
                for name in names {
                    // Deleting the own group is legal, and so is deleting one that isn't there.
                    if name == "deleteGroup", value.stringValue == nil {
                        await #expect(throws: FunctionFailure.self) {
                            try await world.call(name, [["group": value]], user: ida)
                        }
                    }
                    if name == "deleteGroup" { continue }
                    for argument: Value in [
                        value, ["group": value, "id": value],
                        [
                            "group": .string(Self.group), "email": value, "isAccepted": value, "isSharing": value,
                            "user": value,
                        ],
                        ["id": "c0ffee000000000000000009", "name": value],
                    ] {
                        do {
                            try await world.call(name, [argument], user: ida)
                        } catch let failure as FunctionFailure {
                            #expect(failure.code == .functionExecutionError && !failure.message.isEmpty)
                        }
                    }
                }
            }
            // Legal of it was at most to change the own sharing, and a name that is a text.
            #expect(try await world.collection("Group").find().compactMap { $0["name"] } == ["Family"])
            try await expectConsistent(world)
        }
    }

    // MARK: Maps

    @Test func `a device is on the maps of the groups with which its owner shares, and of no others`() async throws {
        try await Self.with { world in
            let ida = try await world.register("ida"), jon = try await world.register("jon")
            try await create(world, by: ida)
            let phone = try await addDevice(world, of: jon, at: 1)
            try await join(world, jon, of: ida)
            #expect(try await seen(world, jon) == [1])
            try await move(world, phone, to: 2)
            // One change of the device, and the one that follows from it.
            #expect(try await world.settle() == 2)
            #expect(try await seen(world, jon) == [2])
            try await setSharing(world, jon, false)
            #expect(try await seen(world, jon) == [])
            try await move(world, phone, to: 3)
            try await world.settle()
            #expect(try await seen(world, jon) == [])
            try await setSharing(world, jon, true)
            try await world.settle()
            #expect(try await seen(world, jon) == [3])
            _ = try await world.collection("Device").deleteOne(["_id": phone])
            try await world.settle()
            #expect(try await seen(world, jon) == [])
        }
    }

    @Test(arguments: 1...6)
    func `a move that is on its way never brings back who stopped sharing or was removed`(seed: UInt64) async throws {
        try await Self.with { world in
            var random = SeededGenerator(state: seed)
            let ida = try await world.register("ida"), jon = try await world.register("jon")
            try await create(world, by: ida)
            try await join(world, jon, of: ida)
            var devices: [Value] = []
            for number in 0..<3 { devices.append(try await addDevice(world, of: jon, at: Double(number))) }
            for device in devices { try await move(world, device, to: 7) }
            if seed % 2 == 0 { try await setSharing(world, jon, false) } else { try await remove(world, jon, by: ida) }
            for device in devices { try await move(world, device, to: 8) }
            try await world.settle(using: &random, doesCrash: seed > 3)
            #expect(try await seen(world, jon) == (seed % 2 == 0 ? [] : nil))
        }
    }

    // MARK: Crashes and races

    @Test func `a crash before any write of a function is repaired by calling it again`() async throws {
        try await Self.with { world in
            let ida = try await world.register("ida"), jon = try await world.register("jon")
            try await addDevice(world, of: jon, at: 1)
            let id = Value.string(Self.group)
            func call(_ name: String, _ request: Document, _ user: RuleUser) async throws {
                #expect(try await world.callWithCrashes(name, [.document(request)], user: user) > 0, "\(name)")
                try await world.settle(doesCrash: true)
                try await expectConsistent(world)
            }
            try await call("createGroup", ["id": id, "name": "Family"], ida)
            try await call("invite", ["group": id, "email": jon.data["email"] ?? .null], ida)
            try await call("answerInvitation", ["group": id, "isAccepted": true], jon)
            #expect(try await seen(world, jon) == [1])
            try await call("setSharing", ["group": id, "isSharing": false], jon)
            try await call("setSharing", ["group": id, "isSharing": true], jon)
            #expect(try await seen(world, jon) == [1])
            try await call("removeMember", ["group": id, "user": .string(jon.id)], ida)
            try await invite(world, jon, by: ida)
            try await call("deleteGroup", ["group": id], ida)
            #expect(
                try await world.collection("User").find().allSatisfy { $0["invitations"] == [] && $0["groups"] == [] })
            #expect(try await world.collection("Member").countDocuments() == 0)
        }
    }

    @Test func `lists that many change at the same time are right in the end`() async throws {
        try await Self.with { world in
            let ida = try await world.register("ida")
            var people: [RuleUser] = []
            for number in 0..<6 { people.append(try await world.register("p\(number)")) }
            try await create(world, by: ida)
            try await withThrowingTaskGroup(of: Void.self) { group in
                for person in people {
                    group.addTask {
                        try await invite(world, person, by: ida)
                        try await invite(world, person, by: ida)
                        try await answer(world, person)
                    }
                }
                try await group.waitForAll()
            }
            #expect(try await world.collection("Member").countDocuments() == 7)
            try await expectConsistent(world)
            // Some leave, some are removed, some are in two minds, while the group ends for one of them.
            try await withThrowingTaskGroup(of: Void.self) { group in
                for person in people.prefix(3) {
                    for caller in [ida, person] { group.addTask { try await remove(world, person, by: caller) } }
                }
                try await group.waitForAll()
            }
            #expect(try await world.collection("Member").countDocuments() == 4)
            try await expectConsistent(world)
            try await world.signal(.delete, of: people[4])
            try await expectConsistent(world)
            try await world.signal(.delete, of: ida)
            #expect(try await world.collection("Group").countDocuments() == 0)
            #expect(try await world.collection("Member").countDocuments() == 0)
            try await expectConsistent(world)
        }
    }
}
