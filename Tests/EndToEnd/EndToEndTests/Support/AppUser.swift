import ChildProcesses
import DocumentModel
import Foundation
import PartitaClient

/// A user of one of the apps under `Deploy/apps`, with a device.
struct AppUser: Sendable {
    let email: String
    let session: Session
    private let app: PartitaApp

    /// Signs in with the password of all test and sample users.
    /// - Parameter folder: what the device has stored; `nil` for a new device.
    static func signIn(
        _ email: String, to appId: String, on system: RunningSystem, folder: String? = nil
    ) async throws -> AppUser {
        let folder = folder ?? "\(system.directory)/devices/\(UUID().uuidString)"
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        let app = try await PartitaApp(
            PartitaConfiguration(appId: appId, baseURL: system.publicURL, directory: folder, loop: system.loop))
        return AppUser(
            email: email, session: try await app.logIn(.emailPassword(email: email, password: TestDevice.password)),
            app: app)
    }

    func close() async throws { try await app.close() }
}

/// What tests do with an app of `Deploy/apps`.
enum AppUse {
    /// Deploys the app, unless it is, and adds its sample data.
    static func addSample(_ app: String, on system: RunningSystem) async throws {
        let run = try await CapturedRun.run(
            CurrentEnvironment.sibling("partita"),
            ["demo", app, "--sample", "--data", system.directory, "--apps", TestApp.rchat + "/.."])
        guard run.status.isSuccess else { throw SystemFailure(description: run.output) }
    }
}
