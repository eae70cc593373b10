import ChildProcesses
import DocumentModel
import Foundation
import PartitaClient

/// The journey of `rchat`: a conversation of three people, scene by scene.
struct RChatJourney: Sendable {
    let stage: DemoStage
    private var configuration: LocalConfiguration { stage.configuration }
    private var check: DemoCheck {
        DemoCheck(stage: stage, database: "RChat", collections: ["User", "Chatster", "ChatMessage"])
    }

    func play() async throws {
        stage.scene(
            "Three people register; one trigger creates a User document for each, another a Chatster that all can see")
        let ada = try await register("ada")
        let ben = try await register("ben")
        let cleo = try await register("cleo")
        let people = [ada, ben, cleo]
        for device in people { try await seesEverybody(device, people) }

        stage.scene("Ada begins a conversation with Ben")
        let id = "\(stage.run)-conversation"
        let (adaTalk, benTalk) = try await begin(id, ada, ben)

        stage.scene("Messages go both ways")
        try await ben.waitForMessage(try await ada.send("Hello Ben", to: adaTalk), in: benTalk)
        try await ada.waitForMessage(try await ben.send("Hello Ada", to: benTalk), in: adaTalk)
        try await ben.waitForUnread(id, 1)
        try await ada.waitForUnread(id, 1)

        stage.scene("Ben is offline for a while; both go on writing")
        try await offlineScene(ada, ben, adaTalk, benTalk)
        try await ada.waitForUnread(id, 4)
        try await ben.waitForUnread(id, 2)

        stage.scene("Cleo is no member, and tries to open the conversation")
        try await refuse(cleo, id)

        stage.scene("Ada sends a photo of 2 MB")
        try await photoScene(ada, ben, cleo, adaTalk, benTalk)

        stage.scene("A message without an author makes a trigger fail; its event is dead-lettered, others go on")
        try await failureScene(ada, ben, adaTalk, benTalk)

        stage.scene("A row is changed by hand in Postgres")
        try await psqlScene(ada, ben, adaTalk, benTalk)

        stage.scene("A device of Cleo's is killed")
        try await presenceScene(ada, cleo)

        stage.scene("Ben reads the conversation over HTTP, and Cleo tries")
        try await RChatReads(stage: stage).play(ben, cleo, benTalk)

        stage.scene("Ada removes Ben from the conversation")
        try await removeScene(id, ada, ben, benTalk)

        stage.scene("Every device has what Postgres has")
        try await check.compare(
            people.flatMap { [($0.person, $0.own), ($0.person, $0.everybody)] } + [(ada.person, adaTalk)])
        for device in people { try await device.close() }
    }

    private func register(_ name: String) async throws -> RChatDevice {
        try await RChatDevice.register(name, on: stage)
    }

    private func seesEverybody(_ device: RChatDevice, _ people: [RChatDevice]) async throws {
        for other in people {
            try await eventually("\(device.name) sees the Chatster of \(other.name)") {
                try await device.everybody.find("Chatster", ["userName": .string(other.email)]).first
            }
        }
        device.say("sees \(people.count) Chatsters")
    }

    private func begin(
        _ id: String, _ ada: RChatDevice, _ ben: RChatDevice
    ) async throws -> (PartitionHandle, PartitionHandle) {
        let members: [Value] = [ada, ben].map {
            .document(["userName": .string($0.email), "membershipStatus": .string("User added, but invite pending")])
        }
        let conversation: Document = [
            "id": .string(id), "displayName": .string("Ada and Ben"), "unreadCount": .int64(0),
            "members": .array(members),
        ]
        try await ada.own.write {
            $0.update(
                "User", id: .string(ada.session.userId), ["$push": ["conversations": .document(conversation)]])
        }
        try await ada.own.waitForUploads()
        ada.say("has added the conversation to her own User document")
        try await eventually("Ben is invited") {
            try await ben.user()["conversations"]?.arrayValue?.isEmpty == false ? true : nil
        }
        ben.say("is invited: a trigger has added the conversation to his")
        let partition = Value.string("conversation=\(id)")
        let adaTalk = try await ada.session.openPartition(partition, waitForFirstSync: true)
        let benTalk = try await ben.session.openPartition(partition, waitForFirstSync: true)
        return (adaTalk, benTalk)
    }

    private func offlineScene(
        _ ada: RChatDevice, _ ben: RChatDevice, _ adaTalk: PartitionHandle, _ benTalk: PartitionHandle
    ) async throws {
        await ben.session.goOffline()
        ben.say("is offline")
        var ids: [String] = []
        for number in 1...3 { ids.append(try await ben.send("Offline message \(number)", to: benTalk)) }
        let adas = try await ada.send("Are you there?", to: adaTalk)
        try await adaTalk.waitForUploads()
        await ben.session.goOnline()
        ben.say("is online again")
        for id in ids { try await ada.waitForMessage(id, in: adaTalk) }
        try await ben.waitForMessage(adas, in: benTalk)
        try await benTalk.waitForUploads()
        let lists = try await [adaTalk, benTalk].asyncMap { try await Self.texts($0) }
        guard lists[0] == lists[1], lists[0].count == 6 else {
            throw DemoFailure(description: "the devices disagree: \(lists)")
        }
        Output.line("  both have the same \(lists[0].count) messages")
    }

    private static func texts(_ handle: PartitionHandle) async throws -> Set<String> {
        Set(try await handle.find("ChatMessage").compactMap { $0["text"]?.stringValue })
    }

    private func refuse(_ cleo: RChatDevice, _ id: String) async throws {
        try await cleo.person.isShutOut(of: "conversation=\(id)")
    }

    private func photoScene(
        _ ada: RChatDevice, _ ben: RChatDevice, _ cleo: RChatDevice, _ adaTalk: PartitionHandle,
        _ benTalk: PartitionHandle
    ) async throws {
        let picture = DemoPicture.bytes()
        let id = try await ada.send(
            "Look at this", to: adaTalk,
            image: ["_id": .string(UUID().uuidString), "picture": .binary(Binary(picture)), "date": .date(0)])
        let image = try await eventually("the photo is a link", within: .seconds(30)) { () -> Document? in
            let image = try await benTalk.document("ChatMessage", id: .string(id))?["image"]?.documentValue
            return image?["pictureURL"] != nil && image?["picture"] == nil ? image : nil
        }
        let link = image["pictureURL"]?.stringValue ?? ""
        ben.say("has a thumbnail of \(image["thumbNail"]?.binaryValue?.bytes.count ?? 0) bytes, and a link")
        let bens = try await ben.person.fetch(link)
        guard bens.status == 200, bens.body == picture else {
            throw DemoFailure(description: "the link gave \(bens.status) and \(bens.body.count) bytes")
        }
        ben.say("opens the link: \(bens.body.count) bytes, the same")
        let cleos = try await cleo.person.fetch(link)
        guard cleos.status == 404 else { throw DemoFailure(description: "the link gave a stranger \(cleos.status)") }
        cleo.say("can't open it (\(cleos.status))")
    }

    private func failureScene(
        _ ada: RChatDevice, _ ben: RChatDevice, _ adaTalk: PartitionHandle, _ benTalk: PartitionHandle
    ) async throws {
        let bad = try await ada.send("From nobody", to: adaTalk, hasAuthor: false)
        let good = try await ada.send("And on it goes", to: adaTalk)
        try await ben.waitForMessage(good, in: benTalk)
        let reason = try await eventually("the dead letter") { try await RChatTables(stage: stage).deadLetter(of: bad) }
        Output.line("  the dead letter says: \(reason)")
    }

    private func psqlScene(
        _ ada: RChatDevice, _ ben: RChatDevice, _ adaTalk: PartitionHandle, _ benTalk: PartitionHandle
    ) async throws {
        let id = try await ada.send("A tpyo", to: adaTalk)
        try await ben.waitForMessage(id, in: benTalk)
        try await adaTalk.waitForUploads()
        try await RChatTables(stage: stage).setText(of: id, to: "A typo")
        for (device, talk) in [(ada, adaTalk), (ben, benTalk)] {
            try await eventually("\(device.name) sees the row's new text") {
                try await talk.document("ChatMessage", id: .string(id))?["text"]?.stringValue == "A typo" ? true : nil
            }
            device.say("sees “A typo”")
        }
    }

    private func presenceScene(_ ada: RChatDevice, _ cleo: RChatDevice) async throws {
        try await waitForPresence(of: cleo, "On-Line", on: ada)
        await cleo.session.goOffline()
        try await waitForPresence(of: cleo, "Off-Line", on: ada)
        let other = try ChildProcess.spawn(
            CurrentEnvironment.sibling("partita"),
            [
                "device", "--app", "rchat", "--user", cleo.email, "--password", cleo.password, "--auth",
                configuration.authURL, "--stay",
            ],
            output: .discard)
        try await waitForPresence(of: cleo, "On-Line", on: ada)
        other.signal(SIGKILL)
        _ = await other.wait()
        try await waitForPresence(of: cleo, "Off-Line", on: ada)
        await cleo.session.goOnline()
        try await waitForPresence(of: cleo, "On-Line", on: ada)
    }

    private func waitForPresence(of person: RChatDevice, _ presence: String, on device: RChatDevice) async throws {
        let start = ContinuousClock.now
        try await eventually("\(device.name) sees that \(person.name) is \(presence)") {
            let chatster = try await device.everybody.find("Chatster", ["userName": .string(person.email)]).first
            return chatster?["presence"]?.stringValue == presence ? true : nil
        }
        device.say("sees \(person.name) \(presence) after \(Progress.text(ContinuousClock.now - start))")
    }

    private func removeScene(
        _ id: String, _ ada: RChatDevice, _ ben: RChatDevice, _ benTalk: PartitionHandle
    ) async throws {
        let start = ContinuousClock.now
        try await ada.own.write {
            $0.update(
                "User", id: .string(ada.session.userId),
                ["$pull": ["conversations.$[c].members": ["userName": .string(ben.email)]]],
                arrayFilters: [["c.id": .string(id)]])
        }
        try await ben.person.loses(benTalk, "ChatMessage", since: start)
    }
}
