import ChildProcesses
import EventLoop
import Foundation
import Glibc
import HTTPClient
import LocalEngines

/// Engines, services and an app on this machine.
actor LocalSystem {
    nonisolated let places: Places
    private let basePort: Int
    private let loop = EventLoop(name: "up")
    private let appDirectory: String
    private let services: [ServiceProcess]
    private var engines = StartedEngines()
    private var keeping: Task<Void, Never>?
    private(set) var configuration = LocalConfiguration(values: [:])

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
        unlink(readyFile)  // of a run that was killed
        try checkPorts()
        Progress.line("Starting in \(places.data)")
        let engines = try await StartedEngines.start(in: places, basePort: basePort)
        self.engines = engines
        keeping = Task { await engines.keepRunning() }  // ended by `stop`
        let configuration = configuration(of: engines)
        self.configuration = configuration
        try configuration.write(to: places.configFile)
        try await Progress.step("preparing tables and topics") { try await SetupCommand.setUp(configuration) }
        let directory = appDirectory
        try await Progress.step("deploying \(directory)") {
            _ = try await AppDeployCommand.deploy(directory, configuration: configuration)
        }
        for service in services {
            try await service.start(environment: configuration.environment.merging(settings) { $1 })
        }
        let http = HTTPClient(loop: loop)
        for service in services {
            try await Progress.step("starting \(service.name) on port \(service.port)") {
                try await service.waitUntilReady(http)
            }
        }
        await http.shutDown()
        try Data().write(to: URL(fileURLWithPath: readyFile))
    }

    func stop() async {
        Progress.line("Stopping")
        unlink(readyFile)  // it may never have come so far
        for service in services.reversed() { await service.stop() }
        keeping?.cancel()
        await engines.stop()
        await keeping?.value
    }

    /// There while everything is up.
    private var readyFile: String { places.run + "/ready" }

    private func configuration(of engines: StartedEngines) -> LocalConfiguration {
        LocalConfiguration(values: [
            "postgres.url": engines.postgresURL, "redis.url": engines.redisURL,
            "kafka.bootstrap": engines.kafkaBootstrap,
            "kafka.embedded": "\(engines.isEmbeddedBroker)", "auth.url": url(of: "auth"),
        ])
    }

    private func url(of service: String) -> String { services.first { $0.name == service }?.url ?? "" }

    /// What is particular to a system on one machine.
    private var settings: [String: String] {
        var settings = [
            "PARTITA_SYNC_URL": url(of: "sync-gateway").replacing("http://", with: "ws://"),
            "PARTITA_MEDIA_PUBLIC_URL": url(of: "media-offload"), "PARTITA_MEDIA_DIRECTORY": places.media,
            "PARTITA_MAIL_FOLDER": places.mail, "PARTITA_HTTP_ADDRESS": "127.0.0.1", "PARTITA_LOOPS": "1",
        ]
        // Short enough for somebody who watches.
        settings["PARTITA_PRESENCE_TTL"] = CurrentEnvironment.variables["PARTITA_PRESENCE_TTL"] ?? "6s"
        return settings
    }

    /// What a newcomer has to know.
    var welcome: String {
        let addresses = services.map { "  \($0.name.padded(to: 16)) \($0.url)" }.joined(separator: "\n")
        let tool = CommandLine.arguments.first ?? "partita"
        return """

            Partita runs.

            \(addresses)
              data             \(places.data)
              logs             \(places.logs)

            Try next, in another terminal:
              \(tool) device --user ada@example.com
              \(tool) topics tail document-changes
              \(tool) app list

            Ctrl-C stops everything; the data stays.
            """
    }

    private func checkPorts() throws {
        for service in services where LocalPort.isTaken(service.port) {
            throw EngineError(
                engine: service.name,
                message: "port \(service.port) is in use; stop what listens there, or choose others with --port")
        }
    }
}
