import BenchmarkRunner
import ChildProcesses
import DocumentModel
import EventLoop
import Foundation
import HTTPClient
import LocalEngines

/// The five services as processes, as `partita up` starts them, with the app of the benchmarks: a collection for devices, partitions that
/// everybody may read and write, functions, and triggers on collections of their own.
struct RunningSystem: Sendable {
    static let app = "bench"

    /// The path of calls of functions.
    static let callPath = "/api/client/v2.0/app/\(app)/functions/call"

    /// The password of every user.
    static let password = "a long password"

    /// The data directory, by which the tool finds the system.
    let directory: String
    /// The process whose children the services are.
    let process: Int32
    let gatewayPort: Int
    /// The port of the trigger workers.
    var functionsPort: Int { gatewayPort + 1 }
    private let authURL: String
    let token: String
    private let user: String

    /// The system; started once, when a benchmark first asks for it.
    static func shared(on machine: Machine) async throws -> RunningSystem {
        try await starter.system(on: machine)
    }

    private static let starter = Starter()

    private actor Starter {
        private var started: Task<RunningSystem, any Error>?

        func system(on machine: Machine) async throws -> RunningSystem {
            let task = started ?? Task { try await RunningSystem.start(on: machine) }
            started = task
            return try await task.value
        }
    }

    private static func start(on machine: Machine) async throws -> RunningSystem {
        var environment = CurrentEnvironment.variables
        environment["PARTITA_POSTGRES_URL"] = try await machine.postgres()
        environment["PARTITA_REDIS_URL"] = try await machine.redis()
        let broker = try await machine.kafka()
        environment["PARTITA_KAFKA_BOOTSTRAP"] = broker.bootstrap
        environment["PARTITA_KAFKA_EMBEDDED"] = "\(broker.isEmbedded)"
        // Otherwise sockets that only receive would be pinged, and given up: what reads them in a measurement doesn't answer.
        environment["PARTITA_PRESENCE_TTL"] = "600s"
        // All devices are of one user.
        environment["PARTITA_DEVICE_CONNECTIONS"] = "10000"
        environment["PARTITA_WATCH_USER_STREAMS"] = "1000"
        let directory = try await machine.directory() + "/system"
        try FileManager.default.createDirectory(atPath: directory, withIntermediateDirectories: true)
        let port = try LocalPort.free(5)
        let up = try ChildProcess.spawn(
            CurrentEnvironment.sibling("partita"),
            ["up", "--data", directory, "--port", "\(port)", "--app", "Tests/Benchmarks/App"],
            environment: environment, output: .file(directory + "/up.log"))
        await machine.atEnd { await up.terminate(grace: .seconds(40)) }
        let end = ContinuousClock.now + .seconds(120)
        while !FileManager.default.fileExists(atPath: directory + "/run/ready") {
            guard up.exitStatus == nil, ContinuousClock.now < end else {
                let log = try String(contentsOfFile: directory + "/up.log", encoding: .utf8)
                throw BenchmarkError("the services don't start: \(log.suffix(2000))")
            }
            try await Task.sleep(for: .milliseconds(50))  // readiness has no event to wait for
        }
        let authURL = "http://127.0.0.1:\(port)"
        let email = try await register(1, authURL)[0]
        let (token, user) = try await signIn(email, authURL)
        return RunningSystem(
            directory: directory, process: up.pid, gatewayPort: port + 2, authURL: authURL, token: token, user: user)
    }

    // MARK: Users

    private static func provider(_ authURL: String) -> String {
        "\(authURL)/api/client/v2.0/app/\(app)/auth/providers/local-userpass"
    }

    private static func signInURL(_ authURL: String) -> String { provider(authURL) + "/login" }

    /// Where users sign in.
    var signInURL: String { Self.signInURL(authURL) }

    /// Registers further users.
    /// - Returns: their e-mail addresses.
    func register(_ count: Int) async throws -> [String] { try await Self.register(count, authURL) }

    private static func register(_ count: Int, _ authURL: String) async throws -> [String] {
        let emails = (0..<count).map { _ in "\(UUID().uuidString.lowercased())@example.com" }
        _ = try await post(
            provider(authURL) + "/register",
            emails.map { ["email": .string($0), "password": .string(password)] }, status: 201)
        return emails
    }

    /// Signs a registered user in.
    /// - Returns: the access token.
    func signIn(_ email: String) async throws -> String { try await Self.signIn(email, authURL).token }

    private static func signIn(_ email: String, _ authURL: String) async throws -> (token: String, user: String) {
        let answer = try await post(
            signInURL(authURL), [["username": .string(email), "password": .string(password)]], status: 200)[0]
        let session = try ExtendedJSON.parseDocument(answer.body)
        guard let token = session["access_token"]?.stringValue, let user = session["user_id"]?.stringValue else {
            throw BenchmarkError("no token: \(answer.text)")
        }
        return (token, user)
    }

    /// Sends bodies one after the other.
    private static func post(_ url: String, _ bodies: [Document], status: Int) async throws -> [HTTPClient.Response] {
        let loop = EventLoop(name: "sign-up")
        let http = HTTPClient(loop: loop)
        var responses: [HTTPClient.Response] = []
        for body in bodies {
            let response = try await http.send(
                .init(
                    method: "POST", url: url, headers: [.init("Content-Type", "application/json")],
                    body: Array(ExtendedJSON.print(body).utf8)))
            guard response.status == status else { throw BenchmarkError("\(url): \(response.text)") }
            responses.append(response)
        }
        await http.shutDown()
        await loop.shutDown()
        return responses
    }

    /// Connects a device of the one user that the benchmarks have. Blocks.
    func connect(_ device: String) throws -> BenchmarkDevice { try connect(device, token: token) }

    /// Connects a device of the user who has a token. Blocks.
    func connect(_ device: String, token: String) throws -> BenchmarkDevice {
        try BenchmarkDevice(device, token: token, port: gatewayPort, app: Self.app)
    }

    /// Connects a client of the Realm protocol, of the same user, that opens a partition with few objects. Blocks.
    func openRealm(_ partition: Partition) throws -> BenchmarkRealmClient {
        var client = try connectRealm()
        try client.open(partition)
        return client
    }

    /// Connects such a client. Blocks.
    func connectRealm() throws -> BenchmarkRealmClient {
        try BenchmarkRealmClient(token: token, port: gatewayPort, app: Self.app)
    }
}
