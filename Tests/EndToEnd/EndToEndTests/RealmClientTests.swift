import DocumentModel
import Foundation
import Glibc
import PartitaClient
import RealmSync
import RealmTestClient
import SyncEngine
import TestSupport
import Testing

extension EndToEnd {
    /// Apps with a Realm SDK in the real app RChat, beside one with the native client.
    struct RealmClientTests {
        private func message(_ id: String = UUID().uuidString.lowercased()) -> ObjectKey {
            ObjectKey(table: "ChatMessage", id: .string(ExactText(id)))
        }

        private func message(by author: String, _ fields: Document = [:]) -> Document {
            var message: Document = ["text": "hello", "author": .string(author), "timestamp": .date(1_700_000_000_000)]
            for field in fields.fields { message[field.key] = field.value }
            return message
        }

        /// The count of unread messages in a conversation, of which an object has no property while it is 0.
        private func unread(_ client: RealmClient, _ person: RealmPerson, _ talk: String) -> Int? {
            let talks = client.objects.objects[person.user]?["conversations"]?.arrayValue ?? []
            return talks.first { $0["id"]?.stringValue == talk }.map { $0["unreadCount"]?.intValue ?? 0 }
        }

        private func talk(_ id: String, of people: [String]) -> Document {
            [
                "id": .string(id), "displayName": "Talk", "unreadCount": .int64(0),
                "members": .array(
                    people.map { .document(["userName": .string($0), "membershipStatus": "Membership active"]) }),
            ]
        }

        @Test func `two people with a Realm SDK and one with the native client chat`() async throws {
            let system = try await RunningSystem.shared()
            let ann = try await RealmPerson.register("ann", on: system)
            let bob = try await RealmPerson.register("bob", on: system)
            let cem = try await TestDevice.register("cem", on: system)
            let annOwn = try await ann.openOwn(), bobOwn = try await bob.openOwn()
            let faces = try await ann.open("all-users=all-the-users")
            let bobsFace = ObjectKey(table: "Chatster", id: .string(ExactText(bob.id)))
            try await faces.receive { $0.objects.objects[bobsFace]?["presence"] == "On-Line" }

            // A conversation, in Ann's own object first; a trigger invites the others.
            let id = UUID().uuidString.lowercased()
            try annOwn.change(ann.user) {
                $0["conversations"] = [.document(talk(id, of: [ann.email, bob.email, cem.email]))]
            }
            try await annOwn.upload()
            try await bobOwn.receive { unread($0, bob, id) == 0 }
            let conversation = TestConversation(id: id, system: system)
            let annTalk = try await ann.open("conversation=\(id)"), bobTalk = try await bob.open("conversation=\(id)")
            try await eventually("Cem is invited", within: patience) {
                TestDevice.unread(try await cem.user(), id) != nil
            }
            let cemTalk = try await cem.open(conversation)

            // Messages, and the counters of those who haven't read them.
            let first = message()
            try annTalk.write((first, message(by: ann.email, ["location": [1.0, 2.0]])))
            try await annTalk.upload()
            try await bobTalk.receive { $0.objects.objects[first]?["text"] == "hello" }
            try await conversation.waitUntilSame(cemTalk)
            try await bobOwn.receive { unread($0, bob, id) == 1 }
            _ = try await cem.send("hello Ann", to: cemTalk)
            try await bobOwn.receive { unread($0, bob, id) == 2 }
            try await annOwn.receive { unread($0, ann, id) == 1 }
            try bobOwn.add(-2, toUnreadOf: 0, of: bob.user)
            try await bobOwn.upload()
            #expect(unread(bobOwn, bob, id) == 0)

            // Both edit a list while they are offline.
            for client in [annTalk, bobTalk] {
                try await client.catchUp()
                client.cut()
            }
            try annTalk.change(first) { $0["location"] = [0.5, 1.0, 2.0] }
            try bobTalk.change(first) {
                $0["location"] = [1.0, 2.0, 3.0]
                $0["text"] = "hello, edited"
            }
            for (person, client) in [(bob, bobTalk), (ann, annTalk)] {
                try await person.connect(client)
                try await person.upload(client)
            }
            let merged: Value = [0.5, 1.0, 2.0, 3.0]
            for client in [annTalk, bobTalk] {
                try await client.receive { $0.objects.objects[first]?["location"] == merged }
                #expect(client.objects.objects[first]?["text"] == "hello, edited")
            }
            try await conversation.waitUntilSame(cemTalk)
            #expect(try await cemTalk.document("ChatMessage", id: first.id.value)?["location"] == merged)

            // The binary of a photo goes, and a link comes.
            let photo = message()
            try annTalk.write(
                (
                    photo,
                    message(
                        by: ann.email,
                        ["image": ["_id": "photo", "date": .date(0), "picture": .binary(Binary([1, 2, 3]))]])
                ))
            try await annTalk.upload()
            for client in [annTalk, bobTalk] {
                try await client.receive { $0.objects.objects[photo]?["image"]?["pictureURL"]?.stringValue != nil }
                #expect(client.objects.objects[photo]?["image"]?["picture"] == nil)
            }

            // Presence.
            for client in [bobOwn, bobTalk] { client.cut() }
            try await faces.receive { $0.objects.objects[bobsFace]?["presence"] == "Off-Line" }
            for client in [bobOwn, bobTalk] { try await bob.connect(client) }
            try await faces.receive { $0.objects.objects[bobsFace]?["presence"] == "On-Line" }

            // Bob is removed from the conversation: he gets no more of it, and can't write to it.
            try await annOwn.catchUp()
            try annOwn.change(ann.user) {
                $0["conversations"] = [.document(talk(id, of: [ann.email, cem.email]))]
            }
            try await annOwn.upload()
            try await bobOwn.receive { unread($0, bob, id) == nil }
            try await bobTalk.receive { !$0.errors.isEmpty }
            #expect(bobTalk.errors.first?.numbers.first == 206)
            #expect(bobTalk.objects.objects[first] != nil, "what he has stays until the app deletes its file")
            bobTalk.cut()
            try bobTalk.change(first) { $0["text"] = "not allowed" }
            try await bobTalk.connect()
            await #expect(throws: (any Error).self) {
                try await bobTalk.begin(); try await bobTalk.catchUp()
            }
            #expect(bobTalk.errors.last?.numbers.first == 206)
            try await annTalk.catchUp()
            #expect(annTalk.objects.objects[first]?["text"] == "hello, edited")
            for client in [annOwn, bobOwn, annTalk, bobTalk, faces] { client.cut() }
            try await cem.close()
        }

        /// The gateway dies at another moment of the sessions each time: while they connect, begin, upload, merge, are answered.
        @Test func `Realm clients lose nothing and apply nothing twice through kill -9 of the gateway at any time`()
            async throws
        {
            let system = try await RunningSystem.shared()
            let ann = try await RealmPerson.register("ann", on: system)
            // Two devices of one person.
            let phone = try await ann.openOwn(), tablet = try await ann.openOwn(), id = UUID().uuidString.lowercased()
            try phone.change(ann.user) { $0["conversations"] = [.document(talk(id, of: [ann.email]))] }
            try await phone.upload()
            try await tablet.receive { unread($0, ann, id) == 0 }
            let list = message()
            let devices = [phone, tablet]
            try phone.write(
                (list, ["text": "list", "author": .string(ann.email), "timestamp": .date(0), "location": []]))
            try await phone.upload()
            try await tablet.receive { $0.objects.objects[list] != nil }

            var written: [Double] = []
            for (round, delay) in [0, 2, 5, 10, 20, 40].enumerated() {
                for (place, device) in devices.enumerated() {
                    device.cut()
                    for number in 0..<5 {
                        try device.add(1, toUnreadOf: 0, of: ann.user)
                        let element = Double(100 * round + 10 * place + number)
                        written.append(element)
                        try device.change(list) {
                            $0["location"] = .array(($0["location"]?.arrayValue ?? []) + [.double(element)])
                        }
                    }
                }
                let old = try system.pid(of: "sync-gateway")
                let sessions = devices.map { device in
                    Task {
                        try await device.connect()
                        try await device.begin()
                        try await device.upload()
                        try await device.catchUp()
                    }
                }
                try await Task.sleep(for: .milliseconds(delay))  // the moment of the kill
                try system.kill("sync-gateway")
                for session in sessions { _ = await session.result }
                // Clients of these SDKs come again on their own, before anybody says that the gateway is there.
                for device in devices {
                    try await ann.connect(device)
                    try await ann.upload(device)
                }
                try await system.waitUntilReplaced("sync-gateway", old)
            }
            let fresh = try await ann.openOwn()
            for device in devices + [fresh] {
                try await device.catchUp()
                #expect(unread(device, ann, id) == 60)
                let elements = device.objects.objects[list]?["location"]?.arrayValue?.compactMap(\.doubleValue) ?? []
                #expect(elements.sorted() == written.sorted())
                #expect(device.objects.isSame(as: phone.objects))
                #expect(device.errors.isEmpty)
                device.cut()
            }
            let row = try await system.query(
                #"select body::text from "rchat/RChat"."ChatMessage" where _id = $1"#,
                [.text(list.id.value.idText ?? "")])
            let document = try ExtendedJSON.parseDocument(row.decode(String.self).first ?? "")
            #expect(document["location"] == phone.objects.objects[list]?["location"])
        }

        @Test func `after a restore Realm clients begin anew, and offer what wasn't uploaded`() async throws {
            let name = "partita-e2e-realm-restored-\(getpid())"
            let first = try await RunningSystem.start(name)
            let ann = try await RealmPerson.register("ann", on: first)
            let phone = try await ann.openOwn()
            try phone.change(ann.user) { $0["userPreferences"] = ["displayName": "before the backup"] }
            try await phone.upload()
            let behind = try await ann.openOwn()
            behind.cut()

            let backup = "\(first.directory)/backup"
            try await SystemBackup.run("partita backup", backup, first)
            // It only reads after the backup, and says so each time.
            for _ in 0..<3 {
                try await behind.connect()
                try await behind.begin()
                try await behind.catchUp()
                behind.cut()
            }
            try phone.change(ann.user) { $0["userPreferences"] = ["displayName": "after the backup"] }
            try await phone.upload()
            phone.cut()
            #expect(await first.up.terminate(grace: .seconds(40)) == .exited(0))
            try await SystemBackup.run("partita restore", backup, first)
            let second = try await RunningSystem.start(name, basePort: first.basePort)

            // The server has forgotten what the phone has seen: never a silent divergence.
            let again = try await RealmPerson.signIn(ann.email, on: second)
            try phone.change(ann.user) { $0["userPreferences"] = ["displayName": "never uploaded"] }
            try await phone.connect()
            await #expect(throws: (any Error).self) {
                try await phone.begin()
                try await phone.catchUp()
            }
            let error = try #require(phone.errors.first)
            #expect(error.json["action"] == "ClientReset" && error.json["isRecoveryModeDisabled"] == false)
            // What the SDKs do then: a fresh file, and what wasn't uploaded once more on top of it.
            let fresh = try await again.openOwn()
            #expect(fresh.objects.objects[ann.user]?["userPreferences"] == ["displayName": "before the backup"])
            try fresh.change(ann.user) { $0["userPreferences"] = ["displayName": "never uploaded"] }
            try await fresh.upload()
            // Who has nothing that the backup doesn't have goes on.
            try await again.connect(behind)
            try await behind.receive {
                $0.objects.objects[ann.user]?["userPreferences"] == ["displayName": "never uploaded"]
            }
            #expect(behind.errors.isEmpty)
            for client in [fresh, behind] { client.cut() }
            #expect(await second.up.terminate(grace: .seconds(40)) == .exited(0))
        }
    }
}
