import DocumentModel
import Foundation
import PartitaClient

/// The journey of `teamwork`: a manager plans jobs for two teams, workers do them, and roles change meanwhile.
struct TeamworkJourney: Sendable {
    let stage: DemoStage
    private let job = ObjectId()
    private var north: String { "north-\(stage.run)" }
    private var south: String { "south-\(stage.run)" }

    func play() async throws {
        stage.scene("The manager of the sample data creates two teams; two accounts become their workers")
        let mia = try await stage.signIn("mia", "mia@teamwork.example")
        let wim = try await stage.register("wim"), wes = try await stage.register("wes")
        try await wim.isShutOut(of: "master")
        for team in [north, south] { try await mia.call("createTeam", ["id": .string(team), "name": .string(team)]) }
        try await make(wim, "worker", of: north, by: mia)
        try await make(wes, "worker", of: south, by: mia)
        try await wim.isRefused("setRole", ["email": .string(wim.email), "role": "manager"])

        stage.scene("Mia plans a job for the north; it appears in Wim's team, and not in Wes's")
        let master = try await mia.open("master"), managers = try await mia.open("managers")
        let wims = try await wim.open("team=\(north)"), wess = try await wes.open("team=\(south)")
        try await master.write {
            $0.insert(
                "Job",
                [
                    "_id": .objectId(job), "partition": "master", "title": "Replace the pump", "team": .string(north),
                    "address": "Mill Lane 4", "checklist": ["shut the valve", "swap the pump"], "status": "new",
                    "done": [], "notes": [],
                ])
        }
        try await wim.sees("the job", in: wims, "TeamJob", ["_id": .objectId(job), "status": "new"])
        try await wes.isShutOut(of: "team=\(north)")

        stage.scene("Wim works on it offline, while Mia changes the plan")
        await wim.session.goOffline()
        try await write(
            wims,
            [
                "$set": ["status": "begun", "worker": .string(wim.email)], "$push": ["done": "shut the valve"],
            ])
        try await write(wims, ["$push": ["notes": ["author": .string(wim.email), "text": "The pump is rusty"]]])
        try await master.write {
            $0.update(
                "Job", id: .objectId(job),
                ["$push": ["checklist": "paint it"], "$set": ["title": "Replace and paint the pump"]])
        }
        await wim.session.goOnline()
        try await mia.sees(
            "what Wim has done", in: master, "Job",
            ["_id": .objectId(job), "status": "begun", "done": "shut the valve", "notes.text": "The pump is rusty"])
        try await wim.sees(
            "the new plan", in: wims, "TeamJob", ["_id": .objectId(job), "checklist": "paint it", "status": "begun"])

        stage.scene("Mia sees where Wim is; Wes doesn't")
        let place = try await wim.open("location=\(wim.id)")
        try await place.write {
            $0.insert(
                "Location",
                [
                    "_id": .objectId(ObjectId()), "partition": .string("location=\(wim.id)"),
                    "location": ["longitude": 13.3, "latitude": 52.5, "at": .date(WallClock.system.now())],
                ])
        }
        try await mia.sees(
            "Wim at 13.3° E", in: managers, "Worker", ["_id": .string(wim.id), "location.longitude": 13.3])
        try await wes.isShutOut(of: "managers")
        try await wes.isShutOut(of: "location=\(wim.id)")

        stage.scene("The job goes to the south, with what was done")
        try await master.write { $0.update("Job", id: .objectId(job), ["$set": ["team": .string(south)]]) }
        try await wes.sees(
            "the job", in: wess, "TeamJob", ["_id": .objectId(job), "status": "begun", "done": "shut the valve"])
        try await isGone(from: wims, of: wim)

        stage.scene("Wim becomes a manager, and no worker any more")
        var start = ContinuousClock.now
        try await make(wim, "manager", by: mia)
        let wimsMaster = try await wim.open("master")
        wim.say("opens the master list, \(Progress.text(ContinuousClock.now - start)) after the change")
        try await wimsMaster.write { $0.update("Job", id: .objectId(job), ["$push": ["checklist": "by Wim"]]) }
        try await wes.sees("Wim's addition", in: wess, "TeamJob", ["_id": .objectId(job), "checklist": "by Wim"])
        start = .now
        try await make(wim, "none", by: mia)
        try await wim.loses(wimsMaster, "Job", since: start)
        try await wim.loses(wims, "TeamJob", since: start)

        stage.scene("Mia deletes the job")
        try await master.write { $0.delete("Job", id: .objectId(job)) }
        try await isGone(from: wess, of: wes)

        stage.scene("Every device has what Postgres has")
        let check = DemoCheck(
            stage: stage, database: "teamwork", collections: ["User", "Team", "Job", "TeamJob", "Location", "Worker"])
        try await check.compare([(mia, master), (mia, managers), (wes, wess)])
        for person in [mia, wim, wes] { try await person.close() }
    }

    private func make(_ person: DemoPerson, _ role: String, of team: String? = nil, by manager: DemoPerson) async throws
    {
        var request: Document = ["email": .string(person.email), "role": .string(role)]
        request["team"] = team.map { .string($0) }
        // A trigger makes the account's User document.
        try await eventually("\(person.name) has a role") { [request] () -> Bool? in
            do {
                try await manager.call("setRole", .document(request))
                return true
            } catch let error as PartitaError where error.message.contains("there is no other account") {
                return nil
            }
        }
        person.say("is \(role == "none" ? "without a role" : "a \(role)")\(team.map { " of \($0)" } ?? "") now")
    }

    private func write(_ handle: PartitionHandle, _ update: Document) async throws {
        try await handle.write { $0.update("TeamJob", id: .objectId(job), update) }
    }

    private func isGone(from handle: PartitionHandle, of person: DemoPerson) async throws {
        try await eventually("\(person.name) doesn't see the job any more") {
            try await handle.document("TeamJob", id: .objectId(job)) == nil ? true : nil
        }
        person.say("doesn't see the job any more")
    }
}
