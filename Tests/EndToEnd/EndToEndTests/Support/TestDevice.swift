import DocumentModel
import Foundation
import PartitaClient
import TestSupport

/// One person's device: an account of its own, its User document, and the public documents (Chatsters) of all users.
final class TestDevice: Sendable {
    static let password = "correct horse battery staple"

    let email: String
    let session: Session
    let transport: WatchedTransport
    let own: PartitionHandle
    private let app: PartitaApp
    private let system: RunningSystem

    private init(
        email: String, session: Session, transport: WatchedTransport, own: PartitionHandle, app: PartitaApp,
        system: RunningSystem
    ) {
        self.email = email
        self.session = session
        self.transport = transport
        self.own = own
        self.app = app
        self.system = system
    }

    /// Registers a new user, signs in, and waits for the documents that triggers make: the user's own, and the public one by
    /// which others invite them.
    static func register(_ name: String, on system: RunningSystem) async throws -> TestDevice {
        let email = "\(name)-\(UUID().uuidString.prefix(8).lowercased())@example.com"
        let folder = "\(system.directory)/devices/\(email)"
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        let transport = WatchedTransport(loop: system.loop)
        var configuration = PartitaConfiguration(
            appId: "rchat", baseURL: system.publicURL, directory: folder, loop: system.loop)
        configuration.sync = transport
        configuration.reconnect = (.milliseconds(200), .seconds(1))
        let app = try await PartitaApp(configuration)
        try await app.register(email: email, password: password)
        let session = try await app.logIn(.emailPassword(email: email, password: password))
        let own = try await session.openPartition(.string("user=\(session.userId)"))
        let device = TestDevice(
            email: email, session: session, transport: transport, own: own, app: app, system: system)
        // The triggers' consumers may still be reconnecting to a broker that was just killed.
        do {
            // By their history: a table itself is made with the first document.
            let written = { (collection: String) in
                try await !system.query(
                    "select 1 from partita.changes where app = 'rchat' and collection = $1 and _id = $2",
                    [.text(collection), .text("s:" + session.userId)]
                ).isEmpty
            }
            let patience = Duration.seconds(90)
            try await eventually("a trigger makes \(name)'s document", within: patience) { try await written("User") }
            try await eventually("\(name) has it", within: patience) { try await device.user() != nil }
            try await eventually("\(name) can be invited", within: patience) { try await written("Chatster") }
        } catch {
            throw SystemFailure(description: "\(error)\n\(system.logEnds())")
        }
        return device
    }

    func close() async throws { try await app.close() }

    // MARK: Documents

    func user() async throws -> Document? { try await own.document("User", id: .string(session.userId)) }

    /// What Postgres has of the person.
    func userRow() async throws -> Document {
        let rows = try await system.query(
            #"select body::text from "rchat/RChat"."User" where _id = $1"#, [.text("s:" + session.userId)])
        guard let row = rows.first else { throw SystemFailure(description: "\(email) has no row") }
        return try ExtendedJSON.parseDocument(row.decode(0, as: String.self))
    }

    /// How often the person's row was written.
    func userChanges() async throws -> Int {
        try await system.query(
            "select count(*) from partita.changes where app = 'rchat' and collection = 'User' and _id = $1",
            [.text("s:" + session.userId)]
        ).decode(Int.self).first ?? 0
    }

    // MARK: Conversations

    /// Begins a conversation, in the own User document first; a trigger invites the others.
    func beginConversation(with others: [TestDevice] = []) async throws -> TestConversation {
        let id = UUID().uuidString.lowercased()
        let members: [Value] = ([self] + others).map {
            .document(["userName": .string($0.email), "membershipStatus": .string("User added, but invite pending")])
        }
        let conversation: Document = [
            "id": .string(id), "displayName": "Talk", "unreadCount": .int64(0), "members": .array(members),
        ]
        try await own.write {
            $0.update("User", id: .string(session.userId), ["$push": ["conversations": .document(conversation)]])
        }
        try await own.waitForUploads()
        for other in others {
            try await eventually("\(other.email) is invited", within: patience) {
                Self.unread(try await other.user(), id) != nil
            }
        }
        return TestConversation(id: id, system: system)
    }

    /// The count of unread messages in a conversation.
    static func unread(_ user: Document?, _ conversation: String) -> Int? {
        let entry = user?["conversations"]?.arrayValue?.first { $0.documentValue?["id"]?.stringValue == conversation }
        return entry?.documentValue?["unreadCount"]?.intValue.map { Int($0) }
    }

    func open(_ conversation: TestConversation) async throws -> PartitionHandle {
        try await session.openPartition(conversation.partition, waitForFirstSync: true)
    }

    /// Writes a message; returns its id. It is on the device then, not yet on the server.
    @discardableResult
    func send(_ text: String, to handle: PartitionHandle) async throws -> String {
        let id = UUID().uuidString.lowercased()
        let message: Document = [
            "_id": .string(id), "partition": handle.partition.value ?? .null, "text": .string(text),
            "author": .string(email),
            "timestamp": .date(Int64(Date().timeIntervalSince1970 * 1000)),
        ]
        try await handle.write { $0.insert("ChatMessage", message) }
        return id
    }

    /// Writes a message with a picture; returns its id.
    func send(_ picture: [UInt8], id: String = UUID().uuidString, to handle: PartitionHandle) async throws -> String {
        try await handle.write {
            $0.insert(
                "ChatMessage",
                [
                    "_id": .string(id), "partition": handle.partition.value ?? .null, "text": "look",
                    "author": .string(self.email), "timestamp": .date(0),
                    "image": [
                        "_id": "photo", "date": .date(0), "picture": .binary(Binary(picture)),
                        "thumbNail": .binary(Binary([1])),
                    ],
                ])
        }
        return id
    }

    /// The link that media offload has put in place of a message's picture.
    func link(ofPicture id: String, in handle: PartitionHandle) async throws -> String? {
        try await handle.document("ChatMessage", id: .string(id))?["image"]?["pictureURL"]?.stringValue
    }

    /// Removes a member from a conversation.
    func remove(_ member: TestDevice, from conversation: TestConversation) async throws {
        try await own.write {
            $0.update(
                "User", id: .string(self.session.userId),
                ["$pull": ["conversations.$[c].members": ["userName": .string(member.email)]]],
                arrayFilters: [["c.id": .string(conversation.id)]])
        }
    }
}
