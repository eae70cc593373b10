import AppDefinition
import DocumentModel
import DocumentStore
import FunctionProtocol
import TestSupport
import Testing

@Suite struct TeamworkTests {
    // Accounts of the sample: a manager, and a worker of each team.
    private static let mia = sample(1), wim = sample(2), wes = sample(3)
    private static let task = ["title", "address", "location", "checklist"]
    private static let work = ["status", "done", "notes", "worker"]

    private static func sample(_ number: Int) -> RuleUser { RuleUser(id: "0000beef000000000000000\(number)") }

    private static func with(_ body: (AppWorld) async throws -> Void) async throws {
        try await AppWorld.with("teamwork") { world in
            try await world.insertSample()
            try await world.settle()
            try await body(world)
        }
    }

    private func setRole(
        _ world: AppWorld, _ email: String, _ role: String, _ team: String? = nil, by user: RuleUser = Self.mia
    ) async throws {
        var request: Document = ["email": .string(email), "role": .string(role)]
        request["team"] = team.map { .string($0) }
        try await world.call("setRole", [.document(request)], user: user)
    }

    private func failure(of body: () async throws -> Void) async -> (any Error)? {
        do {
            try await body()
            return nil
        } catch { return error }
    }

    private func plan(_ world: AppWorld, _ team: String?) async throws -> Value {
        let id = Value.objectId(ObjectId())
        var job: Document = [
            "_id": id, "partition": "master", "title": "Job", "checklist": ["a", "b"], "status": "new",
        ]
        job["team"] = team.map { .string($0) }
        _ = try await world.collection("Job").insertOne(job)
        return id
    }

    private func change(_ world: AppWorld, _ collection: String, _ id: Value, _ update: Document) async throws {
        _ = try await world.collection(collection).updateOne(["_id": id], .document(update))
    }

    /// Each job with a team has one copy, in its team's partition, and both agree; there are no other copies.
    private func expectAgreement(_ world: AppWorld) async throws {
        let jobs = try await world.collection("Job").find(), copies = try await world.collection("TeamJob").find()
        #expect(copies.count == jobs.count { $0["team"] != nil })
        for job in jobs where job["team"] != nil {
            let copy = copies.first { $0["_id"] == job["_id"] }
            #expect(copy?["partition"]?.stringValue == "team=\(job["team"]?.stringValue ?? "")")
            for field in Self.task + Self.work { #expect(copy?[field] == job[field], "\(field) of \(job)") }
        }
    }

    // MARK: Rights

    @Test func `roles decide who opens what, and a change takes effect at once`() async throws {
        try await Self.with { world in
            let rights: [(String, RuleUser, (read: Bool, write: Bool))] = [
                ("master", Self.mia, (true, true)), ("master", Self.wim, (false, false)),
                ("managers", Self.mia, (true, false)), ("managers", Self.wim, (false, false)),
                ("team=north", Self.mia, (true, true)), ("team=north", Self.wim, (true, true)),
                ("team=north", Self.wes, (false, false)), ("teams", Self.wes, (true, false)),
                ("location=\(Self.wim.id)", Self.wim, (true, true)),
                ("location=\(Self.wim.id)", Self.mia, (false, false)),
                ("user=\(Self.wim.id)", Self.wim, (true, false)), ("user=\(Self.wim.id)", Self.mia, (false, false)),
                ("master=", Self.mia, (false, false)), ("team=", Self.wim, (false, false)),
                ("", Self.mia, (false, false)),
            ]
            for (partition, user, expected) in rights {
                #expect(try await world.access(user, partition) == expected, "\(partition) \(user.id)")
            }
            let newcomer = try await world.register("newcomer")
            for partition in ["master", "managers", "teams", "team=north", "team=undefined", "location=\(newcomer.id)"]
            {
                #expect(try await world.access(newcomer, partition) == (false, false), "\(partition)")
            }
            try await setRole(world, "wim@teamwork.example", "worker", "south")
            #expect(try await world.access(Self.wim, "team=north") == (false, false))
            #expect(try await world.access(Self.wim, "team=south") == (true, true))
            try await setRole(world, "wim@teamwork.example", "manager")
            #expect(try await world.access(Self.wim, "master") == (true, true))
            try await setRole(world, "wim@teamwork.example", "none")
            #expect(try await world.access(Self.wim, "master") == (false, false))
            #expect(try await world.access(Self.wim, "location=\(Self.wim.id)") == (false, false))
        }
    }

    @Test func `only managers give roles, never their own, and a manager is always left`() async throws {
        try await Self.with { world in
            await #expect(throws: FunctionFailure.self) {
                try await setRole(world, "wes@teamwork.example", "manager", by: Self.wim)
            }
            await #expect(throws: FunctionFailure.self) { try await setRole(world, "mia@teamwork.example", "none") }
            await #expect(throws: FunctionFailure.self) {
                try await setRole(world, "wim@teamwork.example", "worker", "east")
            }
            await #expect(throws: FunctionFailure.self) {
                try await setRole(world, "nobody@teamwork.example", "manager")
            }
            await #expect(throws: FunctionFailure.self) {
                try await world.call("createTeam", [["id": "east", "name": "East"]], user: Self.wim)
            }
            for _ in 0..<5 {
                try await setRole(world, "wim@teamwork.example", "manager")
                // Each takes the other's role at the same time.
                async let one = failure { try await setRole(world, "wim@teamwork.example", "none", by: Self.mia) }
                async let other = failure { try await setRole(world, "mia@teamwork.example", "none", by: Self.wim) }
                let failures = await [one, other].compactMap(\.self)
                #expect(failures.count == 1, "\(failures)")
                #expect(try await world.collection("User").countDocuments(["role": "manager"]) == 1)
                // The one who is left makes the other a manager again.
                if try await world.access(Self.mia, "master").read == false {
                    try await setRole(world, "mia@teamwork.example", "manager", by: Self.wim)
                }
            }
        }
    }

    @Test func `hostile arguments are refused with a reason, and change nothing`() async throws {
        try await Self.with { world in
            let users = try await world.collection("User").find(),
                teams = try await world.collection("Team").countDocuments()
            for value: Value in [
                .null, ["$ne": ""], [["$gt": ""]], .double(.nan), .bool(true),
                .string(String(repeating: "x", count: 100_000)),
            ] {
                for (name, argument) in [
                    ("setRole", value), ("setRole", ["email": value, "role": "none"]),
                    ("setRole", ["email": "wim@teamwork.example", "role": value]),
                    ("setRole", ["email": "wim@teamwork.example", "role": "worker", "team": value]),
                    ("setRole", ["email": "wim@teamwork.example", "role": "manager", "team": value]),
                    ("createTeam", value), ("createTeam", ["id": value, "name": "x"]),
                    ("createTeam", ["id": "x", "name": value]),
                ] as [(String, Value)] {
                    let failure = await #expect(throws: FunctionFailure.self, "\(name) \(argument)") {
                        try await world.call(name, [argument], user: Self.mia)
                    }
                    #expect(failure?.code == .functionExecutionError)
                }
            }
            let now = try await world.collection("User").find()
            #expect(
                now.map { $0["role"] } == users.map { $0["role"] } && now.map { $0["team"] } == users.map { $0["team"] }
            )
            #expect(try await world.collection("Team").countDocuments() == teams)
        }
    }

    @Test func `what workers' devices may write can't pretend to be anything else`() async throws {
        try await Self.with { world in
            let forged: [(String, Document)] = [
                ("User", ["_id": "x", "partition": "team=north", "email": "x", "role": "manager"]),
                ("Job", ["_id": .objectId(ObjectId()), "partition": "team=north", "title": "x"]),
                ("Worker", ["_id": "x", "partition": "location=x", "email": "x", "role": "manager"]),
                ("Team", ["_id": "x", "partition": "team=north", "name": "x"]),
                ("TeamJob", ["_id": .objectId(ObjectId()), "partition": "location=x", "title": "x"]),
                (
                    "Location",
                    [
                        "_id": .objectId(ObjectId()), "partition": "team=north",
                        "location": ["longitude": 1.0, "latitude": 1.0],
                    ]
                ),
            ]
            for (collection, document) in forged {
                let error = await #expect(throws: DocumentStoreError.self, "\(collection)") {
                    try await world.collection(collection).insertOne(document)
                }
                #expect(error?.mongoCode == 121)
            }
            // A job that no manager has planned, and a location under the id of another's.
            let id = Value.objectId(ObjectId())
            _ = try await world.collection("TeamJob").insertOne([
                "_id": id, "partition": "team=north", "title": "Forged",
            ])
            let unassigned = try #require(
                try await world.collection("Job").findOne(["team": ["$exists": false]])?["_id"])
            _ = try await world.collection("TeamJob").insertOne([
                "_id": unassigned, "partition": "team=north", "title": "Forged", "status": "done",
            ])
            try await world.settle()
            #expect(try await world.collection("TeamJob").countDocuments(["title": "Forged"]) == 0)
            #expect(try await world.collection("Job").findOne(["_id": unassigned])?["status"] == "new")
            try await expectAgreement(world)
        }
    }

    // MARK: Jobs

    @Test func `the master list decides about the task, the copy about the work`() async throws {
        try await Self.with { world in
            let id = try await plan(world, "north")
            try await world.settle()
            try await expectAgreement(world)
            try await change(
                world, "TeamJob", id, ["$set": ["status": "begun", "title": "Mine"], "$push": ["done": "a"]])
            try await change(world, "Job", id, ["$push": ["checklist": "c"], "$set": ["status": "done"]])
            try await world.settle()
            let job = try #require(try await world.collection("Job").findOne(["_id": id]))
            #expect(
                job["title"] == "Job" && job["status"] == "begun" && job["done"] == ["a"]
                    && job["checklist"] == ["a", "b", "c"])
            try await expectAgreement(world)
            // To another team, to none, and to a third.
            for team in ["south", nil, "north"] as [String?] {
                try await change(
                    world, "Job", id, team.map { ["$set": ["team": .string($0)]] } ?? ["$unset": ["team": ""]])
                try await world.settle()
                try await expectAgreement(world)
                #expect(try await world.collection("Job").findOne(["_id": id])?["done"] == ["a"])
            }
            // A worker deletes the copy, which comes back; the manager deletes the job.
            _ = try await world.collection("TeamJob").deleteOne(["_id": id])
            try await world.settle()
            try await expectAgreement(world)
            _ = try await world.collection("Job").deleteOne(["_id": id])
            try await world.settle()
            #expect(try await world.collection("TeamJob").countDocuments(["_id": id]) == 0)
        }
    }

    @Test func `triggers that write what they watch come to an end`() async throws {
        try await Self.with { world in
            let id = try await plan(world, "north")
            // The job, its copy, and the note of where the copy is.
            #expect(try await world.settle() == 3)
            try await change(world, "TeamJob", id, ["$set": ["status": "begun"]])
            #expect(try await world.settle() == 2)
            try await change(world, "Job", id, ["$set": ["title": "Renamed"]])
            #expect(try await world.settle() == 2)
            try await change(world, "User", .string(Self.wim.id), ["$set": ["team": "south"]])
            #expect(try await world.settle() == 2)
        }
    }

    @Test(arguments: 1...8)
    func `whatever the order, and wherever a run dies, both agree in the end`(seed: UInt64) async throws {
        try await Self.with { world in
            var random = SeededGenerator(state: seed)
            let ids = [try await plan(world, "north"), try await plan(world, "south"), try await plan(world, nil)]
            if seed % 2 == 0 { try await world.settle(using: &random) }
            for round in 0..<3 {
                for id in ids {
                    try await change(
                        world, "TeamJob", id,
                        ["$push": ["notes": ["text": .string("\(round)")]], "$set": ["status": "begun"]])
                    try await change(world, "Job", id, ["$push": ["checklist": .string("\(round)")]])
                    let team = ["north", "south"].randomElement(using: &random) ?? ""
                    if Bool.random(using: &random) {
                        try await change(world, "Job", id, ["$set": ["team": .string(team)]])
                    }
                }
                if round == 1 { try await world.settle(using: &random, doesCrash: seed > 4) }
            }
            try await world.settle(using: &random, doesCrash: seed > 4)
            try await expectAgreement(world)
        }
    }

    @Test func `notes and marks that many add at the same time are all there`() async throws {
        try await Self.with { world in
            let id = try await plan(world, "north")
            try await world.settle()
            try await withThrowingTaskGroup(of: Void.self) { group in
                for number in 0..<10 {
                    group.addTask {
                        try await change(world, "TeamJob", id, ["$push": ["notes": ["text": .string("\(number)")]]])
                    }
                    group.addTask {
                        try await change(world, "TeamJob", id, ["$addToSet": ["done": number % 2 == 0 ? "a" : "b"]])
                    }
                    group.addTask { try await change(world, "Job", id, ["$push": ["checklist": .string("\(number)")]]) }
                    group.addTask {
                        let event: Document = ["documentKey": ["_id": id]]
                        try await world.call("reconcile", [.document(event)])
                    }
                }
                try await group.waitForAll()
            }
            try await world.settle()
            let job = try #require(try await world.collection("Job").findOne(["_id": id]))
            #expect(job["notes"]?.arrayValue?.count == 10 && job["checklist"]?.arrayValue?.count == 12)
            #expect(Set(job["done"]?.arrayValue?.compactMap(\.stringValue) ?? []) == ["a", "b"])
            try await expectAgreement(world)
        }
    }

    @Test func `managers see where each worker is, and not where somebody without a role is`() async throws {
        try await Self.with { world in
            func seen(_ user: RuleUser) async throws -> Double? {
                try await world.collection("Worker").findOne(["_id": .string(user.id)])?["location"]?["longitude"]?
                    .doubleValue
            }
            #expect(try await seen(Self.wim) == 13.31)
            _ = try await world.collection("Location").updateOne(
                ["partition": .string("location=\(Self.wim.id)")], .document(["$set": ["location.longitude": 13.5]]))
            try await world.settle(doesCrash: true)
            #expect(try await seen(Self.wim) == 13.5)
            try await setRole(world, "wim@teamwork.example", "none")
            try await world.settle()
            #expect(try await seen(Self.wim) == nil)
            try await world.signal(.delete, of: Self.wes)
            #expect(try await world.collection("Worker").countDocuments(["_id": .string(Self.wes.id)]) == 0)
            #expect(
                try await world.collection("Location").countDocuments(["partition": .string("location=\(Self.wes.id)")])
                    == 0)
        }
    }
}
