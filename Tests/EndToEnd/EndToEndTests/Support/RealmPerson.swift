import DocumentModel
import Foundation
import HTTPClient
import RealmSync
import RealmTestClient
import SyncEngine
import TestSupport

/// A person whose app has a Realm SDK and was pointed at the system: an account that was made by the SDKs' calls, and a client for each
/// partition that is open.
struct RealmPerson: Sendable {
    let email: String
    let id: String
    private let accessToken: String
    private let app: String
    /// Of the gateway, as `location` says.
    private let port: Int
    private let system: RunningSystem

    static func register(
        _ name: String, on system: RunningSystem, app: String = "rchat"
    ) async throws -> RealmPerson {
        let email = "\(name)-\(UUID().uuidString.prefix(8).lowercased())@example.com"
        _ = try await call("/app/\(app)/auth/providers/local-userpass/register", ["email": .string(email)], system)
        return try await signIn(email, on: system, app: app)
    }

    static func signIn(
        _ email: String, on system: RunningSystem, app: String = "rchat"
    ) async throws -> RealmPerson {
        let location = try await call("/app/\(app)/location", nil, system)
        guard let place = location["ws_hostname"]?.stringValue, let port = URL(string: place)?.port else {
            throw SystemFailure(description: "location says \(location)")
        }
        let session = try await call(
            "/app/\(app)/auth/providers/local-userpass/login",
            ["provider": "local-userpass", "username": .string(email)], system)
        guard let id = session["user_id"]?.stringValue, let token = session["access_token"]?.stringValue else {
            throw SystemFailure(description: "the login of \(email) answers \(session)")
        }
        return RealmPerson(email: email, id: id, accessToken: token, app: app, port: port, system: system)
    }

    /// - Parameter body: without the password; `nil` for a `GET`.
    private static func call(_ path: String, _ body: Document?, _ system: RunningSystem) async throws -> Document {
        let http = HTTPCaller(root: system.publicURL + "/api/client/v2.0", system: system)
        let answer: HTTPClient.Response
        if var body {
            body["password"] = .string(TestDevice.password)
            answer = try await http.post(path, ExtendedJSON.print(body))
        } else {
            answer = try await http.get(path)
        }
        guard (200...201).contains(answer.status) else {
            throw SystemFailure(description: "\(path): \(answer.status) \(answer.text)")
        }
        return try ExtendedJSON.parseDocument(answer.text)
    }

    /// The key of the person's `User` object.
    var user: ObjectKey { ObjectKey(table: "User", id: .string(ExactText(id))) }

    /// Opens a partition as soon as the person may read it: invitations take a moment.
    func open(_ partition: String) async throws -> RealmClient {
        let token = accessToken
        let client = RealmClient(in: Partition(text: "s:" + partition), of: app, port: port, on: system.loop) {
            token
        }
        try await connect(client, within: .seconds(30))
        return client
    }

    /// Opens the partition of the person's own documents, with the `User` object that a trigger makes for a new account.
    func openOwn() async throws -> RealmClient {
        let client = try await open("user=\(id)")
        try await client.receive { $0.objects.objects[user] != nil }
        return client
    }

    /// Connects, again and again until the gateway serves the partition.
    func connect(_ client: RealmClient, within limit: Duration = .seconds(60)) async throws {
        var last = ""
        do {
            try await eventually("a Realm client has its partition", within: limit, every: .milliseconds(50)) {
                do {
                    client.cut()
                    try await client.open()
                    return true
                } catch {
                    last = "\(error)"
                    return false
                }
            }
        } catch {
            throw SystemFailure(description: "\(error): \(last)\n\(system.logEnds())")
        }
    }

    /// Uploads what waits, through cuts and errors after which clients try again.
    func upload(_ client: RealmClient) async throws {
        for _ in 0..<5 {
            let known = client.errors.count
            do {
                client.sendPending()
                try await client.receive { $0.pending.isEmpty || $0.errors.count > known }
                if client.pending.isEmpty { return }
            } catch {}
            try await connect(client)
        }
        throw SystemFailure(description: "an upload was cut off five times")
    }
}

extension RealmClient {
    /// The object with a key, changed by a closure and written.
    func change(_ key: ObjectKey, _ body: (inout Document) -> Void) throws {
        guard var object = model.objects.objects[key] else { throw SystemFailure(description: "there is no \(key)") }
        body(&object)
        try write((key, object))
    }

    /// Adds to the count of unread messages in a conversation of a `User` object, as the SDKs' increment does.
    func add(_ number: Int64, toUnreadOf conversation: Int, of user: ObjectKey) throws {
        guard case .string(let id) = user.id else { return }
        var changeset = RealmSync.Changeset()
        func name(_ text: String) -> InternString { changeset.strings.intern(Array(text.utf8)) }
        let path = Path(
            table: name("User"), key: .string(name(id.text)), field: name("conversations"),
            elements: [.index(UInt32(conversation)), .key(name("unreadCount"))])
        changeset.instructions = [.edit(path, .addInteger(number))]
        try apply(changeset)
    }
}
