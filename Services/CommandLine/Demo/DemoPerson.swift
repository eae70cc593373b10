import DocumentModel
import EventLoop
import Foundation
import HTTPClient
import PartitaClient

/// A person in a journey, with a device; prints what it does and what it sees.
final class DemoPerson: Sendable {
    static let password = "correct horse battery staple"

    let name: String
    let email: String
    let session: Session
    private let app: PartitaApp
    private let stage: DemoStage

    var id: String { session.userId }

    private init(name: String, email: String, app: PartitaApp, session: Session, stage: DemoStage) {
        self.name = name
        self.email = email
        self.app = app
        self.session = session
        self.stage = stage
    }

    static func enter(_ name: String, email: String, isNew: Bool, on stage: DemoStage) async throws -> DemoPerson {
        let folder = "\(stage.folder)/\(name)"
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        var configuration = PartitaConfiguration(
            appId: stage.app, baseURL: stage.configuration.authURL, directory: folder, loop: stage.loop)
        configuration.reconnect = (.milliseconds(200), .seconds(1))
        let app = try await PartitaApp(configuration)
        if isNew {
            try await DemoStage.patiently { isRepeated in
                do {
                    try await app.register(email: email, password: password)
                } catch let error as PartitaError where isRepeated && error.serverCode == "AccountNameInUse" {
                    // The earlier attempt was carried out, and its answer lost.
                }
            }
        }
        let session = try await DemoStage.patiently { _ in
            try await app.logIn(.emailPassword(email: email, password: password))
        }
        let person = DemoPerson(name: name, email: email, app: app, session: session, stage: stage)
        person.say(isNew ? "registered as \(email) and signed in" : "signed in as \(email)")
        return person
    }

    func say(_ what: String) { Output.line("  \(name.padded(to: 5)) \(what)") }

    func close() async throws { try await app.close() }

    // MARK: Functions

    /// Calls a function of the app; again if a service was away, so it must be one that may be called again.
    @discardableResult
    func call(_ function: String, _ arguments: Value = [:]) async throws -> Value {
        try await DemoStage.patiently { _ in try await session.callFunction(function, arguments) }
    }

    /// Calls a function that has to refuse.
    /// - Returns: its reason.
    @discardableResult
    func isRefused(_ function: String, _ arguments: Value = [:]) async throws -> String {
        do {
            _ = try await call(function, arguments)
        } catch let error as PartitaError where error.code == .refused {
            say("is refused: \(error.message)")
            return error.message
        }
        throw DemoFailure(description: "\(name) may call \(function)")
    }

    // MARK: Partitions

    /// Opens a partition, and waits until its documents are there.
    func open(_ partition: String) async throws -> PartitionHandle {
        while true {
            do {
                return try await session.openPartition(.string(partition), waitForFirstSync: true)
            } catch let error as PartitaError where error.code == .revoked && stage.settling > .now {
                try await Task.sleep(for: .milliseconds(200))  // permissions knows the new app soon; nothing tells when
            }
        }
    }

    /// Opens a partition that the person may not read.
    func isShutOut(of partition: String) async throws {
        do {
            _ = try await session.openPartition(.string(partition), waitForFirstSync: true)
        } catch let error as PartitaError where error.code == .revoked {
            return say("is refused: \(error.message)")
        }
        throw DemoFailure(description: "\(name) can open \(partition)")
    }

    /// Waits until an open partition and all its documents are gone from the device.
    /// - Parameter start: when the right was taken away.
    func loses(_ handle: PartitionHandle, _ collection: String, since start: ContinuousClock.Instant) async throws {
        try await eventually("\(name)'s device has lost \(handle.partition.text)") { () -> Bool? in
            do {
                return try await handle.find(collection).isEmpty ? true : nil
            } catch let error as PartitaError where error.code == .revoked {
                return true
            }
        }
        say("loses it, and every document of it, after \(Progress.text(ContinuousClock.now - start))")
    }

    /// Waits until the device shows a document that fulfils a condition.
    @discardableResult
    func sees(
        _ what: String, in handle: PartitionHandle, _ collection: String, _ filter: Document
    ) async throws -> Document {
        let document = try await eventually("\(name) sees \(what)") { try await handle.find(collection, filter).first }
        say("sees \(what)")
        return document
    }

    // MARK: HTTP

    /// An access token from a separate sign-in, as a client over HTTP uses it.
    func accessToken() async throws -> String {
        let credentials: Document = ["username": .string(email), "password": .string(Self.password)]
        let login = try await send(
            .init(
                method: "POST",
                url: stage.configuration.authURL
                    + "/api/client/v2.0/app/\(stage.app)/auth/providers/local-userpass/login",
                headers: [.init("Content-Type", "application/json")], body: Array(ExtendedJSON.print(credentials).utf8))
        )
        guard let token = try ExtendedJSON.parseDocument(login.body)["access_token"]?.stringValue else {
            throw DemoFailure(description: "the sign-in of \(name) answered \(login.status): \(login.text)")
        }
        return token
    }

    /// Opens a media link.
    func fetch(_ link: String) async throws -> HTTPClient.Response {
        let token = try await accessToken()
        let answer = try await send(
            .init(
                method: "GET", url: link, headers: [.init("Authorization", "Bearer \(token)")],
                maximumResponseBytes: 8 << 20))
        // To the object store, which has a signature in the URL instead of the token.
        guard answer.status == 302, let target = answer[header: "location"] else { return answer }
        return try await send(.init(method: "GET", url: target, maximumResponseBytes: 8 << 20))
    }

    private func send(_ request: HTTPClient.Request) async throws -> HTTPClient.Response {
        try await DemoStage.patiently { _ in
            let http = HTTPClient(loop: stage.loop)
            let response: HTTPClient.Response
            do {
                response = try await http.send(request)
            } catch {
                await http.shutDown()
                throw PartitaError(code: .unreachable, message: "\(error)")
            }
            await http.shutDown()
            guard response.status != 503 else { throw PartitaError(code: .unreachable, message: response.text) }
            return response
        }
    }
}
