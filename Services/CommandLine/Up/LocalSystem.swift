import ChildProcesses
import Foundation
import LocalEngines

/// Engines, services and an app on this machine.
final class LocalSystem {
    let places: Places
    private let basePort: Int
    private let appDirectory: String
    private var engines = StartedEngines()
    private let services: [ServiceProcess]

    /// In the order of their ports, and of the way a newcomer meets them.
    static let serviceNames = ["auth", "permissions", "sync-gateway", "trigger-workers", "media-offload"]

    init(places: Places, basePort: Int, appDirectory: String) {
        self.places = places
        self.basePort = basePort
        self.appDirectory = appDirectory
        services = Self.serviceNames.enumerated().map { index, name in
            ServiceProcess(name: name, port: basePort + index, places: places)
        }
    }

    /// - Throws: what says which step failed, and where its log is.
    func start() async throws {
        try places.create()
        try checkPorts()
        Progress.line("Starting in \(places.data)")
        engines = try await StartedEngines.start(in: places, basePort: basePort)
        try writeConfiguration()
        try await Progress.step("preparing tables and topics") { try await SetupCommand.setUp(places.configFile) }
        for service in services { try await service.start() }
        for service in services {
            try await Progress.step("starting \(service.name) on port \(service.port)") { try await waitUntilReady(service) }
        }
        try await Progress.step("deploying \(appDirectory)") {
            try await AppCommands.deploy(appDirectory, configuration: places.configFile)
        }
    }

    func stop() async {
        Progress.line("Stopping")
        for service in services.reversed() { await service.stop() }
        await engines.stop()
    }
}
