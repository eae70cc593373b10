import AppDefinition
import AppDeployment
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
    private let app: AppFiles
    /// The app's place as the user named it.
    private let appName: String
    private let services: [ServiceProcess]
    /// Second processes of some services, besides those that the proxy leads to.
    private let copies: [ServiceProcess]
    private let moreSettings: [String: String]
    private let inFront: LocalProxy
    private var proxy: ServiceProcess?
    private var engines = StartedEngines()
    private var keeping: Task<Void, Never>?
    private(set) var configuration = LocalConfiguration(values: [:])
    /// The id of the app; empty until it is deployed.
    private(set) var appId = ""

    /// The services in the order of their ports, from those that a new user needs first.
    static let serviceNames = ["auth", "permissions", "sync-gateway", "trigger-workers", "media-offload"]

    /// - Parameters:
    ///   - app: the app to deploy, and its place as the user named it.
    ///   - host: the name or address of this machine for clients on other machines; `nil` serves only this machine.
    ///   - proxyTemplate: nginx's configuration; without it, or without nginx, the services have no common address.
    ///   - copies: the services that run a second time, at most four of them.
    ///   - settings: variables for the services, besides the usual ones.
    ///   - ended: called when a service has ended by itself.
    init(
        places: Places, basePort: Int, host: String?, app: AppFiles, named appName: String, proxyTemplate: String,
        copies: [String] = [], settings: [String: String] = [:], ended: ServiceProcess.Ended? = nil
    ) {
        self.places = places
        self.basePort = basePort
        self.app = app
        self.appName = appName
        services = Self.serviceNames.enumerated().map { index, name in
            ServiceProcess(name: name, port: basePort + index, places: places, ended: ended)
        }
        // Between the proxy and the engines.
        let first = basePort + Self.serviceNames.count + 1
        self.copies = copies.enumerated().map { index, name in
            ServiceProcess(
                name: Self.copyName(name), port: first + index, places: places,
                executable: CurrentEnvironment.sibling(name), ended: ended)
        }
        moreSettings = settings
        inFront = LocalProxy(template: proxyTemplate, port: basePort + services.count, host: host, places: places)
    }

    /// The processes besides the engines, in the order of their start.
    private var processes: [ServiceProcess] { services + copies + (proxy.map { [$0] } ?? []) }

    /// The name of a service's second process.
    static func copyName(_ service: String) -> String { service + "-2" }

    /// Checks that the ports of services and proxy are free.
    /// - Throws: `EngineError` that names one that isn't.
    nonisolated func requireFreePorts() throws {
        for process in services + copies { try LocalPort.requireFree(process.port, for: process.name) }
        try LocalPort.requireFree(inFront.port, for: LocalProxy.name)
    }

    /// - Parameter isReset: starts empty, without the data of earlier runs.
    /// - Throws: an error that names the step that failed and its log file.
    func start(isReset: Bool) async throws {
        try requireFreePorts()
        if isReset { try places.remove() }
        try places.create()
        proxy = try inFront.process(services)
        unlink(readyFile)  // left by a run that was killed
        Progress.line("Starting in \(places.data)")
        let engines = try await StartedEngines.start(in: places, basePort: basePort)
        self.engines = engines
        keeping = Task { await engines.keepRunning() }  // ended by `stop`
        var configuration = configuration(of: engines)
        configuration.values["auth.keySecret"] = CurrentEnvironment.variables["PARTITA_AUTH_KEY_SECRET"]
        configuration.values["encryption.keys"] = try await EncryptionKey.ofSystem(in: places, configuration)
        self.configuration = configuration
        try configuration.write(to: places.configFile)
        try await Progress.step("preparing tables and topics") { try await SetupCommand.setUp(configuration) }
        let app = app
        do {
            let deployed = try await Progress.step("deploying \(appName)") {
                try await Tool.run(configuration) { try await $0.deployments.deploy(app) }
            }
            appId = deployed.definition.id
            for line in deployed.warnings + deployed.report { Progress.line("  " + line) }
        } catch let error as DeploymentError where [.partitionsChange, .schemaBreaks].contains(error.code) {
            // The version that is deployed runs: clients may have added to it in development mode, and all apps would be down.
            appId = AppDefinition.inspect(app).definition.id
            Progress.line("  warning: \(appName) isn't deployed, and the version before goes on: \(error.message)")
        }
        for process in processes {
            try await process.start(
                environment: configuration.environment.merging(settings) { $1 }.merging(moreSettings) { $1 })
        }
        if proxy == nil {
            Progress.line("  no proxy: \(inFront.absence); functions are called at \(url(of: "trigger-workers"))")
        }
        try await waitUntilReady(doing: "starting")
        try Data().write(to: URL(fileURLWithPath: readyFile))
    }

    /// Waits until every process says that it is ready.
    /// - Throws: `EngineError` with the first that isn't ready after a minute.
    func waitUntilReady(doing what: String = "waiting for") async throws {
        let http = HTTPClient(loop: loop)
        for service in processes {
            let missing: String?
            do {
                missing = try await Progress.step("\(what) \(service.name) on port \(service.port)") {
                    try await service.waitUntilReady(http)
                }
            } catch {
                await http.shutDown()
                throw error
            }
            if let missing { Progress.line("  \(service.name) runs without \(missing)") }
        }
        await http.shutDown()
    }

    /// Sends a signal to a service or an engine that this system has started.
    /// - Returns: whether such a process runs.
    @discardableResult
    func signal(_ number: Int32, to name: String) async -> Bool {
        if let process = processes.first(where: { $0.name == name }) { return await process.signal(number) }
        guard let engine = engines.running.first(where: { $0.name == name }) else { return false }
        await engine.signal(number)
        return true
    }

    /// The engines that this system has started.
    var engineNames: [String] { engines.running.map(\.name) }

    /// The processes of a service: their names, ports and base URLs.
    func instances(of service: String) -> [(name: String, port: Int, url: String)] {
        (services + copies).filter { $0.name == service || $0.name == Self.copyName(service) }
            .map { ($0.name, $0.port, $0.url) }
    }

    /// - Parameter signal: the name of the signal that caused the stop; `nil` if none did.
    func stop(after signal: String?) async {
        Progress.line("Stopping" + (signal.map { ", after \($0)" } ?? ""))
        unlink(readyFile)  // it may not exist yet
        for process in processes.reversed() { await process.stop() }
        keeping?.cancel()
        await engines.stop()
        await keeping?.value
    }

    /// A file that exists while everything is up.
    private var readyFile: String { places.run + "/ready" }

    private func configuration(of engines: StartedEngines) -> LocalConfiguration {
        var configuration = LocalConfiguration(values: [
            "postgres.url": engines.postgresURL, "redis.url": engines.redisURL,
            "kafka.bootstrap": engines.kafkaBootstrap,
            "kafka.embedded": "\(engines.isEmbeddedBroker)", "auth.url": proxy?.url ?? url(of: "auth"),
        ])
        if proxy != nil { configuration.values["hosting.url"] = inFront.hostingURL }
        return configuration
    }

    private func url(of service: String) -> String { services.first { $0.name == service }?.url ?? "" }

    /// The base URL for clients: the proxy's, or else that of auth, which they call first.
    private var publicURL: String { publicURL(of: "auth") }

    /// The URL of a service for clients: the common one, if there is one. It is another than the proxy's where something stands before that.
    private func publicURL(of service: String) -> String {
        guard proxy != nil else { return url(of: service) }
        // The services say what is wrong with another text.
        let configured = CurrentEnvironment.variables["PARTITA_PUBLIC_URL"].flatMap { $0.hasPrefix("http") ? $0 : nil }
        return configured ?? inFront.publicURL
    }

    /// The settings that are specific to a system on one machine.
    private var settings: [String: String] {
        var settings = [
            "PARTITA_HTTP_TRUSTED_PROXIES": proxy == nil ? "" : "loopback,1",
            "PARTITA_MEDIA_DIRECTORY": places.media, "PARTITA_MAIL_FOLDER": places.mail,
            "PARTITA_HTTP_ADDRESS": "127.0.0.1", "PARTITA_LOOPS": "1",
        ]
        var defaults = [
            "PARTITA_SYNC_URL": "ws" + publicURL(of: "sync-gateway").dropFirst(4),  // or wss, from https
            "PARTITA_MEDIA_PUBLIC_URL": publicURL(of: "media-offload"),
            // Short, so that a user can watch presence change.
            "PARTITA_PRESENCE_TTL": "6s",
        ]
        // Without a proxy each service has its own, at which its clients call it.
        if proxy != nil { defaults["PARTITA_PUBLIC_URL"] = publicURL }
        for (name, value) in defaults { settings[name] = CurrentEnvironment.variables[name] ?? value }
        return settings
    }

    /// The message after the start: the addresses, and commands to try.
    var welcome: String {
        let addresses = ((proxy.map { [$0] } ?? []) + services).map { "  \($0.name.padded(to: 16)) \($0.url)" }.joined(
            separator: "\n")
        let tool = CommandLine.arguments.first ?? "partita"
        let place = places.isDefault ? "" : " --data \(places.data)"
        return """

            Partita is running; the base URL for clients is \(publicURL)

            \(addresses)
              data             \(places.data)
              logs             \(places.logs)

            To try next, in another terminal:
              \(tool) device --user ada@example.com\(place)
              \(tool) topics tail document-changes\(place)
              \(tool) app list\(place)

            Ctrl-C stops everything; the data stays.
            """
    }
}
