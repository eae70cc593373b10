import DocumentModel
import EventLoop
import Foundation
import HTTPClient
import PartitaClient

/// One person's device in the demo: prints what it does and what it sees.
final class DemoDevice: Sendable {
    let name: String
    let email: String
    let password = "correct horse battery staple"
    let session: Session
    private let app: PartitaApp

    /// The partitions of the person's User document, and of all users' public profiles.
    let own: PartitionHandle
    let everybody: PartitionHandle

    private init(
        name: String, email: String, app: PartitaApp, session: Session, own: PartitionHandle, everybody: PartitionHandle
    ) {
        self.name = name
        self.email = email
        self.app = app
        self.session = session
        self.own = own
        self.everybody = everybody
    }

    /// Registers a person, signs the device in, and waits for the User document that a trigger creates.
    static func register(
        _ name: String, run: String, authURL: String, directory: String, loop: EventLoop
    ) async throws -> DemoDevice {
        let email = "\(name)-\(run)@example.com"
        let folder = "\(directory)/\(name)-\(run)"
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        let app = try await PartitaApp(
            PartitaConfiguration(appId: "rchat", baseURL: authURL, directory: folder, loop: loop))
        try await app.register(email: email, password: "correct horse battery staple")
        let session = try await app.logIn(.emailPassword(email: email, password: "correct horse battery staple"))
        let own = try await session.openPartition(.string("user=\(session.userId)"))
        let everybody = try await session.openPartition(.string("all-users=all-the-users"))
        let device = DemoDevice(name: name, email: email, app: app, session: session, own: own, everybody: everybody)
        device.say("registered as \(email) and signed in")
        _ = try await device.user()
        device.say("has its User document")
        return device
    }

    func say(_ what: String) { Output.line("  \(name.padded(to: 5)) \(what)") }

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

    /// An access token from a separate sign-in, as a client over HTTP uses it.
    func accessToken(authURL: String, loop: EventLoop) async throws -> String {
        let http = HTTPClient(loop: loop)
        let credentials: Document = ["username": .string(email), "password": .string(password)]
        let login = try await http.send(
            .init(
                method: "POST", url: authURL + "/api/client/v2.0/app/rchat/auth/providers/local-userpass/login",
                headers: [.init("Content-Type", "application/json")], body: Array(ExtendedJSON.print(credentials).utf8))
        )
        await http.shutDown()
        guard let token = try ExtendedJSON.parseDocument(login.body)["access_token"]?.stringValue else {
            throw DemoFailure(description: "the sign-in of \(name) answered \(login.status): \(login.text)")
        }
        return token
    }

    func close() async throws { try await app.close() }
}

/// Waits for a value by polling.
/// - Throws: `DemoFailure` when there is none in time.
@discardableResult
func eventually<T>(_ what: String, within limit: Duration = .seconds(20), _ value: () async throws -> T?) async throws
    -> T
{
    let end = ContinuousClock.now + limit
    while true {
        if let value = try await value() { return value }
        if ContinuousClock.now > end { throw DemoFailure(description: "did not happen within \(limit): \(what)") }
        try await Task.sleep(for: .milliseconds(10))  // the condition may depend on any process, so it is polled
    }
}

/// The conversation didn't have the expected result.
struct DemoFailure: Error, CustomStringConvertible { let description: String }
