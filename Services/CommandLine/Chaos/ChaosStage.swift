import EventLoop
import Foundation
import PartitaClient

/// What all parts of a run know.
struct ChaosStage: Sendable {
    let seed: UInt64
    let places: Places
    /// Where devices call the services.
    let baseURL: String
    /// Where devices sync: through the proxy.
    let syncURL: String
    let loop: EventLoop

    /// Everything that belongs to the run, besides the system's own data.
    static func folder(in places: Places) -> String { places.data + "/chaos" }

    func folder(of name: String) -> String { Self.folder(in: places) + "/" + name }

    /// While it exists, devices write nothing.
    var quietFile: String { Self.folder(in: places) + "/quiet" }

    /// Registers a user and signs them in on the device with this name.
    /// - Parameter isNew: otherwise the user is there, and auth may be away for a while.
    func enter(
        _ name: String, isNew: Bool = true, transport: (any SyncTransport)? = nil
    ) async throws -> (app: PartitaApp, session: Session) {
        try FileManager.default.createDirectory(atPath: folder(of: name), withIntermediateDirectories: true)
        let app = try await PartitaApp(
            ChaosDeviceFiles.configuration(
                folder: folder(of: name), baseURL: baseURL, syncURL: syncURL, loop: loop, transport: transport))
        let email = "\(name)@example.com"
        if isNew { try await app.register(email: email, password: DemoPerson.password) }
        let session = try await ChaosPatience.again {
            try await app.logIn(.emailPassword(email: email, password: DemoPerson.password))
        }
        return (app, session)
    }
}
