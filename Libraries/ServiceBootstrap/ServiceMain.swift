import EventLoop
import Foundation
import HTTPServer
import Lifecycle
import Logging
import Metrics

/// The main program of a service: command line, configuration, logging, metrics, health, HTTP server, start and shutdown.
///
/// ```swift
/// @main
/// enum Main {
///     static func main() async {
///         await ServiceMain(name: "auth", summary: "Sign-up, sign-in and tokens.", defaultPort: 7001, keys: AuthKeys.all)
///             .run { context in
///                 let auth = try AuthServer(context)
///                 auth.addRoutes(to: &context.router)
///                 return [auth]
///             }
///     }
/// }
/// ```
public struct ServiceMain: Sendable {
    /// Makes the service: adds its routes and components to the context, and returns the services to run, in the order of their
    /// start. It must not wait for engines, because the HTTP server, and with it the health routes, starts only afterwards. A
    /// service connects to its engines in `run()`, with `Readiness.waitUntilReady`.
    public typealias Make = @Sendable (inout ServiceContext) async throws -> [any Service]

    private let name: String
    private let summary: String
    private let defaultPort: Int
    private let keys: [ConfigurationKeyDescription]

    /// Describes a service.
    /// - Parameters:
    ///   - name: The executable's name, also the logger's label.
    ///   - summary: What it does, one sentence for `--help`.
    ///   - defaultPort: The default of `http.port`.
    ///   - keys: The service's own keys.
    public init(name: String, summary: String, defaultPort: Int, keys: [ConfigurationKeyDescription]) {
        self.name = name
        self.summary = summary
        self.defaultPort = defaultPort
        self.keys = ServiceSettings.keys(defaultPort: defaultPort) + keys
    }

    /// Runs the service until SIGTERM or SIGINT, then exits with 0. When the service can't start or fails, writes the reason to
    /// standard error in one line and exits with a status of `StartFailure.Status`.
    public func run(_ make: Make) async -> Never {
        let environment = ProcessInfo.processInfo.environment
        do {
            let arguments = try ServiceArguments(Array(CommandLine.arguments.dropFirst()))
            if let help = arguments.help {
                print(help == .text ? helpText : Configuration.markdown(keys), terminator: "")
                ProcessExit.now(0)
            }
            let configuration = try load(arguments, environment)
            let settings = ServiceSettings(configuration, defaultPort: defaultPort)
            LoggingSystem.bootstrap(level: settings.logLevel, format: settings.logFormat)
            CrashReport.install(name: name, format: settings.logFormat)
            DescriptorLimit.raise()
            try await run(
                configuration, signals: [.sigterm, .sigint],
                startAgain: { reason in
                    LoggingSystem.flush()
                    Self.report("\(name): starts again: \(Self.oneLine(reason))\n")
                    ProcessExit.now(StartFailure.Status.again.rawValue)
                }, make: make)
            ProcessExit.now(0)
        } catch {
            LoggingSystem.flush()  // so that earlier log lines come first
            Self.report("\(name): \(Self.oneLine(error.message))\n")
            ProcessExit.now(error.status.rawValue)
        }
    }

    /// Writes to standard error. If that can't be written to, the exit status still tells what happened; `FileHandle` would crash.
    private static func report(_ text: String) {
        _ = Array(text.utf8).withUnsafeBytes { write(STDERR_FILENO, $0.baseAddress, $0.count) }
    }

    /// Runs the service with a configuration, for tests and for programs that run services within themselves.
    /// - Parameters:
    ///   - configuration: Made with `allKeys`.
    ///   - registry: Where the metrics are kept.
    ///   - signals: The signals that begin a graceful shutdown, besides the shutdown of an enclosing service group.
    ///   - listening: Called with the port as soon as the server answers requests.
    ///   - startAgain: Ends the process so that it is started again; see ``ServiceContext/startAgain``.
    ///   - make: Makes the service.
    /// - Throws: `StartFailure`.
    public func run(
        _ configuration: Configuration, registry: MetricsRegistry = .shared, signals: [UnixSignal] = [],
        listening: @Sendable (Int) -> Void = { _ in },
        startAgain: @escaping @Sendable (String) -> Void = { _ in }, make: Make
    ) async throws(StartFailure) {
        let settings = ServiceSettings(configuration, defaultPort: defaultPort)
        let logger = Logger(label: name)
        let loops = LoopGroup(settings.loops)
        ProcessMetrics.register(loops: loops, crashes: settings.crashes, registry: registry)
        var context = ServiceContext(
            name: name, configuration: configuration, settings: settings, logger: logger, loops: loops,
            registry: registry, readiness: Readiness(), startAgain: startAgain, router: HTTPRouter(),
            http: HTTPServerConfiguration(address: settings.address, port: settings.port))
        context.http.trustedProxies = settings.trustedProxies
        context.http.drainTimeout = settings.shutdownTimeout * 0.8  // leaves time to end the other services
        context.router.addHealthRoutes(context.readiness, registry)
        for (variable, meant) in configuration.misspelled {
            logger.warning("unknown environment variable", metadata: ["variable": "\(variable)", "meant": "\(meant)"])
        }
        logger.notice(
            "starting",
            metadata: [
                "pid": .stringConvertible(getpid()),
                "configuration": .dictionary(configuration.redacted.mapValues { .string($0) }),
            ])
        if settings.crashes > 0 {
            logger.error(
                "started again after a crash", metadata: ["crashes": .stringConvertible(settings.crashes)])
        }
        do {
            let services = try await make(&context)
            let server = HTTPServer(
                context.http, router: context.router, loops: loops.loops, logger: logger, registry: registry)
            try await server.start()
            listening(server.port)
            // The server is last, so that it stops accepting requests before the others end.
            let group = ServiceGroup(
                services: [ReadinessLog(context.readiness, logger: logger), MemoryRelease()] + services + [server],
                gracefulShutdownSignals: signals,
                maximumGracefulShutdownDuration: settings.shutdownTimeout, maximumCancellationDuration: .seconds(5),
                logger: logger)
            try await group.run()
            await loops.shutDown(within: .seconds(1))
            logger.notice("stopped")
        } catch {
            let failure = StartFailure(error, settings: settings)
            logger.critical("failed", metadata: ["error": "\(failure.message)"])
            await loops.shutDown(within: .seconds(1))
            throw failure
        }
    }

    /// All keys of the service, also those that every service has.
    public var allKeys: [ConfigurationKeyDescription] { keys }

    private func load(
        _ arguments: ServiceArguments, _ environment: [String: String]
    ) throws(StartFailure) -> Configuration {
        do {
            return try Configuration(keys: keys, file: arguments.configurationFile, environment: environment)
        } catch {
            throw StartFailure(.configuration, "configuration: \(error)")
        }
    }

    private var helpText: String {
        """
        \(summary)

        Usage: \(name) [--config FILE] [--help | --help=markdown]

        FILE holds lines of "key = value", or a JSON object. The environment takes precedence over the file.

        Keys:

        \(Configuration.helpText(keys))
        """
    }

    private static func oneLine(_ text: String) -> String {
        text.split(whereSeparator: \.isNewline).joined(separator: " ")
    }
}
