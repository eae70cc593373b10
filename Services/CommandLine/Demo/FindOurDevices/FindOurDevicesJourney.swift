import DocumentModel
import Foundation
import PartitaClient

/// The journey of `findourdevices`: a private group, whose members see where each other's devices are as long as they want it.
struct FindOurDevicesJourney: Sendable {
    let stage: DemoStage
    private let group = ObjectId().hexString
    private let phone = ObjectId()

    init(stage: DemoStage) { self.stage = stage }

    func play() async throws {
        stage.scene("Three people register; Ida creates a group and invites Jon")
        let ida = try await stage.register("ida"), jon = try await stage.register("jon"),
            kai = try await stage.register("kai")
        var own: [PartitionHandle] = []
        for person in [ida, jon, kai] {
            let handle = try await person.open("user=\(person.id)")
            try await person.sees("the own account", in: handle, "User", [:])
            own.append(handle)
        }
        try await ida.call("createGroup", ["id": .string(group), "name": "Family"])
        try await ida.call("invite", ["group": .string(group), "email": .string(jon.email)])
        try await jon.sees("the invitation", in: own[1], "User", ["invitations.group": .string(group)])
        try await jon.isShutOut(of: "group=\(group)")

        stage.scene("Jon accepts; both see the group")
        try await jon.call("answerInvitation", ["group": .string(group), "isAccepted": true])
        let idas = try await ida.open("group=\(group)"), jons = try await jon.open("group=\(group)")
        try await ida.sees("Jon among the members", in: idas, "Member", ["userID": .string(jon.id)])

        stage.scene("Jon's phone moves, also while it is offline")
        let devices = try await jon.open("device=\(jon.id)")
        try await devices.write {
            $0.insert(
                "Device",
                [
                    "_id": .objectId(phone), "partition": .string("device=\(jon.id)"), "name": "Jon's phone",
                    "location": location(13.40),
                ])
        }
        try await sees(jon, at: 13.40, ida, idas)
        await jon.session.goOffline()
        for longitude in [13.41, 13.42, 13.43] { try await move(to: longitude, devices) }
        await jon.session.goOnline()
        try await sees(jon, at: 13.43, ida, idas)

        stage.scene("Kai is no member, and tries to become one")
        try await strangerScene(kai)

        stage.scene("Jon stops sharing, and begins again")
        var start = ContinuousClock.now
        try await jon.call("setSharing", ["group": .string(group), "isSharing": false])
        try await isGone(jon, ida, idas, since: start)
        try await move(to: 13.50, devices)
        try await devices.waitForUploads()
        try await jon.call("setSharing", ["group": .string(group), "isSharing": true])
        try await sees(jon, at: 13.50, ida, idas)

        stage.scene("Ida removes Jon from the group")
        try await jon.isRefused("removeMember", ["group": .string(group), "user": .string(ida.id)])
        start = .now
        try await ida.call("removeMember", ["group": .string(group), "user": .string(jon.id)])
        try await isGone(jon, ida, idas, since: start)
        try await jon.loses(jons, "Member", since: start)
        try await move(to: 13.60, devices)

        stage.scene("Every device has what Postgres has")
        let check = DemoCheck(
            stage: stage, database: "findourdevices", collections: ["User", "Device", "Group", "Member"])
        try await check.compare([(ida, own[0]), (jon, own[1]), (kai, own[2]), (ida, idas), (jon, devices)])
        for person in [ida, jon, kai] { try await person.close() }
    }

    private func location(_ longitude: Double) -> Value {
        ["longitude": .double(longitude), "latitude": .double(52.5), "at": .date(WallClock.system.now())]
    }

    private func move(to longitude: Double, _ devices: PartitionHandle) async throws {
        try await devices.write {
            $0.update("Device", id: .objectId(phone), ["$set": ["location": location(longitude)]])
        }
    }

    /// Waits until a device of another member shows Jon's phone at a place.
    private func sees(_ jon: DemoPerson, at longitude: Double, _ ida: DemoPerson, _ map: PartitionHandle) async throws {
        try await ida.sees(
            "Jon's phone at \(longitude)° E", in: map, "Member",
            ["userID": .string(jon.id), "devices.\(phone.hexString).location.longitude": .double(longitude)])
    }

    private func isGone(
        _ jon: DemoPerson, _ ida: DemoPerson, _ map: PartitionHandle, since start: ContinuousClock.Instant
    ) async throws {
        let field = "devices.\(phone.hexString)"
        try await eventually("Jon's phone is gone from Ida's map") {
            try await map.find("Member", ["userID": .string(jon.id), field: ["$exists": true]]).isEmpty ? true : nil
        }
        ida.say("doesn't see Jon's phone any more, after \(Progress.text(ContinuousClock.now - start))")
    }

    private func strangerScene(_ kai: DemoPerson) async throws {
        try await kai.isShutOut(of: "group=\(group)")
        try await kai.isRefused("invite", ["group": .string(group), "email": .string(kai.email)])
        try await kai.isRefused("answerInvitation", ["group": .string(group), "isAccepted": true])
        let devices = try await kai.open("device=\(kai.id)")
        try await devices.write {
            $0.insert(
                "Member",
                [
                    "_id": .string("\(group):\(kai.id)"), "partition": .string("device=\(kai.id)"),
                    "userID": .string(kai.id), "name": "kai", "isSharing": true, "devices": [:],
                ])
        }
        try await eventually("the forged membership is rejected") { try await devices.rejected().first }
        kai.say("writes a membership into the one partition that is writable, and it is rejected")
        try await kai.isShutOut(of: "group=\(group)")
    }
}
