import DocumentModel
import Foundation
import PartitaClient
import SyncEngine
import Testing

/// A backend in memory and folders for the devices' stores, removed at the end.
struct ClientFixture {
    let backend = FakeBackend()
    let folder: URL

    /// Runs a test with a fixture of its own.
    static func with(_ body: (ClientFixture) async throws -> Void) async throws {
        let folder = FileManager.default.temporaryDirectory.appending(path: "partita-client-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer {
            do {
                try FileManager.default.removeItem(at: folder)
            } catch {
                print("left behind: \(folder.path())")
            }
        }
        try await body(ClientFixture(folder: folder))
    }

    /// The app on a device; the same name again is the same device after a restart.
    func app(_ device: String) async throws -> PartitaApp {
        let directory = folder.appending(path: device)
        try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
        return try await PartitaApp(
            PartitaConfiguration(
                appId: "chat", baseURL: "http://backend", syncURL: "ws://backend", directory: directory.path(),
                http: backend, sync: backend, reconnect: (.milliseconds(5), .milliseconds(20))))
    }

    /// A user's session on a device.
    func session(_ device: String, user: String = "ada") async throws -> Session {
        try await app(device).logIn(.emailPassword(email: user, password: "secret"))
    }

    /// The file of a device's documents.
    func store(of device: String) throws -> String {
        let folder = folder.appending(path: device)
        let files = try FileManager.default.contentsOfDirectory(atPath: folder.path()).filter {
            $0.hasSuffix(".sqlite")
        }
        return folder.appending(path: try #require(files.first)).path()
    }

    /// Copies a device's files, as a backup of the device does.
    func saveDevice(_ device: String) throws { try copy(device, to: "\(device)-backup") }

    /// Puts them back.
    func restoreDevice(_ device: String) throws { try copy("\(device)-backup", to: device) }

    private func copy(_ from: String, to: String) throws {
        let target = folder.appending(path: to)
        if FileManager.default.fileExists(atPath: target.path()) { try FileManager.default.removeItem(at: target) }
        try FileManager.default.copyItem(at: folder.appending(path: from), to: target)
    }

    static let room = "room=1"
    static let partition = Partition(text: "s:room=1")
}
