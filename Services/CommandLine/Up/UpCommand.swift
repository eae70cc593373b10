import AppDefinition
import AppDeployment
import ChildProcesses
import EventLoop
import Foundation
import Glibc
import LocalEngines

/// `partita up`: the whole system on this machine, until Ctrl-C.
enum UpCommand {
    static let command = Command(
        name: "up", summary: "Run engines, services and the app rchat on this machine, until Ctrl-C",
        options: [
            .init(
                "data", value: "DIR",
                "where data, logs and configuration are (default: /var/lib/partita as root, else .partita)"),
            .init(
                "port", value: "PORT",
                "the first port, 8080 by default: services use it and the next ones, engines those from PORT + 10"),
            .init(
                "host", value: "NAME",
                "this machine's name or address for clients on other machines; without it, only this machine is served"),
            .init("app", value: "DIR", "the app to deploy: a folder or an archive (default: Deploy/apps/rchat)"),
            .init(
                "proxy", value: "FILE",
                "the nginx configuration of the common address (default: Deploy/proxy.conf.template)"),
            .init("reset", "start empty: remove the data of earlier runs (except in engines that a variable names)"),
            .init("demo", "play the journey of the app (`partita demo` has them), check the results, and end"),
        ] + AppSource.options
    ) { arguments in
        let app = arguments.value("app") ?? "Deploy/apps/rchat"
        let system = LocalSystem(
            places: Places(data: arguments.value("data")),
            basePort: try arguments.int("port", in: 1024...65000) ?? 8080, host: try host(arguments),
            app: try files(of: app, arguments), named: app,
            proxyTemplate: arguments.value("proxy") ?? "Deploy/proxy.conf.template")
        let signals = StopSignals()
        // A directory that isn't there has no system, and stays away. In one that is, that the system runs says more.
        if !FileManager.default.fileExists(atPath: system.places.data) { try system.requireFreePorts() }
        try await SystemLock.hold(system.places) {
            try await run(system, until: signals, isReset: arguments.has("reset"), isDemo: arguments.has("demo"))
        }
    }

    private static func files(of app: String, _ arguments: Arguments) throws -> AppFiles {
        if !arguments.has("app"), !FileManager.default.fileExists(atPath: app) {
            throw ToolError("there is no folder \(app) here: name the folder of your app with --app")
        }
        return try AppSource.files(app, arguments)
    }

    private static func run(
        _ system: LocalSystem, until signals: StopSignals, isReset: Bool, isDemo: Bool
    ) async throws {
        let work = Task {
            do {
                try await system.start(isReset: isReset)
                Output.line(await system.welcome)
                if isDemo {
                    try await DemoCommand.play(
                        await system.appId, in: nil, await system.configuration, places: system.places)
                } else {
                    await signals.wait()
                }
            } catch {
                await system.stop(after: signals.name)
                throw error
            }
            await system.stop(after: signals.name)
        }
        // Ctrl-C during the start or the demo cancels it; the processes that run by then are stopped.
        let watching = Task {
            await signals.wait()
            work.cancel()
        }
        defer { watching.cancel() }
        do {
            try await work.value
        } catch  where signals.isRaised {
            throw Interrupted()  // the failure was caused by the stop
        }
    }

    private static func host(_ arguments: Arguments) throws -> String? {
        guard let host = arguments.value("host") else { return nil }
        guard host.wholeMatch(of: /[A-Za-z0-9][A-Za-z0-9.-]*/) != nil else {
            throw UsageError("--host takes a name or an IPv4 address, such as 192.168.1.20, not \(host)")
        }
        return host
    }
}
