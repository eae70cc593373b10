import DocumentModel
import Foundation
import PartitaClient

/// A person's device with what `rchat` has of each person.
struct RChatDevice: Sendable {
    let person: DemoPerson
    var name: String { person.name }
    var email: String { person.email }
    var password: String { DemoPerson.password }
    var session: Session { person.session }

    /// The partitions of the person's User document, and of all users' public profiles.
    let own: PartitionHandle
    let everybody: PartitionHandle

    /// Registers a person, signs the device in, and waits for the User document that a trigger creates.
    static func register(_ name: String, on stage: DemoStage) async throws -> RChatDevice {
        let person = try await stage.register(name)
        let own = try await person.session.openPartition(.string("user=\(person.id)"))
        let everybody = try await person.session.openPartition("all-users=all-the-users")
        let device = RChatDevice(person: person, own: own, everybody: everybody)
        _ = try await device.user()
        device.say("has its User document")
        return device
    }

    func say(_ what: String) { person.say(what) }

    /// Waits for the User document and returns it.
    func user() async throws -> Document {
        try await eventually("\(name)'s User document") {
            try await own.document("User", id: .string(session.userId))
        }
    }

    /// Waits until the unread count of a conversation has a value.
    func waitForUnread(_ conversation: String, _ count: Int) async throws {
        try await eventually("\(name) has \(count) unread messages") {
            let list = try await user()["conversations"]?.arrayValue ?? []
            let entry = list.first { $0.documentValue?["id"]?.stringValue == conversation }
            return entry?.documentValue?["unreadCount"]?.intValue == count ? true : nil
        }
        say("has \(count) unread messages")
    }

    /// Sends a message; returns its id.
    @discardableResult
    func send(
        _ text: String, to conversation: PartitionHandle, hasAuthor: Bool = true, image: Document? = nil
    ) async throws -> String {
        let id = UUID().uuidString.lowercased()
        var message: Document = [
            "_id": .string(id), "partition": conversation.partition.value ?? .null, "text": .string(text),
            "timestamp": .date(WallClock.system.now()),
        ]
        if hasAuthor { message["author"] = .string(email) }
        message["image"] = image.map { .document($0) }
        try await conversation.write { $0.insert("ChatMessage", message) }
        say("writes “\(text)”")
        return id
    }

    /// Waits until the device has a message.
    @discardableResult
    func waitForMessage(_ id: String, in conversation: PartitionHandle) async throws -> Document {
        let message = try await eventually("\(name) sees the message \(id)") {
            try await conversation.document("ChatMessage", id: .string(id))
        }
        say("sees “\(message["text"]?.stringValue ?? "")”")
        return message
    }

    func close() async throws { try await person.close() }
}
