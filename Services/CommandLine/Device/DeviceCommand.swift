import DocumentModel
import EventLoop
import Foundation
import PartitaClient

/// `partita device`: an interactive device.
enum DeviceCommand {
    /// How a device signs in, besides the account's name, and what it must know of an app that it can't read.
    static let accountOptions: [Command.Option] = [
        .init("password", value: "TEXT", "the password (default: a well-known one, for trying things out)"),
        .init("auth", value: "URL", "where to sign in (default: the running system)"),
        .init(
            "partition-key", value: "FIELD",
            "the field that holds the partition (default: the app's; with --auth: partition)"),
    ]

    static let command = Command(
        name: "device", summary: "Act as a device: sign in, open partitions, read, write, go offline and online again",
        options: [
            Command.appOption,
            .init("user", value: "EMAIL", "the account to sign in with; registered if it is new"),
            .init("store", value: "DIR", "where the device keeps its documents (default: a temporary directory)"),
            .init("stay", "stay connected without reading commands"),
            LocalConfiguration.option,
        ] + accountOptions
    ) { arguments in
        let user = try arguments.requiredValue("user")
        let auth = try arguments.value("auth") ?? LocalConfiguration(arguments: arguments).authURL
        let store = arguments.value("store")
        let directory =
            store
            ?? FileManager.default.temporaryDirectory.appendingPathComponent("partita-device-\(UUID().uuidString)").path
        try FileManager.default.createDirectory(atPath: directory, withIntermediateDirectories: true)
        let deployed = try await deployed(arguments)
        let app = try await PartitaApp(
            PartitaConfiguration(
                appId: deployed.id, baseURL: auth, directory: directory,
                loop: EventLoop(name: "device")))
        let session = try await signIn(app, user, arguments.value("password") ?? DemoPerson.password)
        Output.line("signed in as \(session.userId), device \(await session.deviceId())")
        let own = try await session.openPartition(.string("user=\(session.userId)"))
        if arguments.has("stay") {
            await StopSignals().wait()
        } else {
            Output.line(DeviceConsole.help)
            try await DeviceConsole(session: session, first: own, partitionKey: deployed.partitionKey).run()
        }
        try await app.close()
        if store == nil { try FileManager.default.removeItem(atPath: directory) }
    }

    /// The app, and the field that holds the partition. With `--auth`, the app's definition may not be accessible and
    /// isn't read.
    static func deployed(_ arguments: Arguments) async throws -> (id: String, partitionKey: String) {
        let key = arguments.value("partition-key")
        if arguments.value("auth") != nil { return (try arguments.requiredValue("app"), key ?? "partition") }
        return try await Tool.run(try LocalConfiguration(arguments: arguments)) { tool in
            let app = try await tool.app(arguments.app)
            return (app.id, key ?? app.definition.sync?.partitionKey ?? "partition")
        }
    }

    static func signIn(_ app: PartitaApp, _ user: String, _ password: String) async throws -> Session {
        let credentials = Credentials.emailPassword(email: user, password: password)
        do {
            return try await app.logIn(credentials)
        } catch let error as PartitaError where error.serverCode == "InvalidPassword" {
            // There is no such account, or the password is wrong: registering shows which.
            do {
                try await app.register(email: user, password: password)
            } catch let error as PartitaError where error.serverCode == "AccountNameInUse" {
                throw ToolError("the password of \(user) is wrong")
            }
            return try await app.logIn(credentials)
        }
    }
}
