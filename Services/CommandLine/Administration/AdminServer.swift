import Auth
import ChildProcesses
import DocumentModel
import EventLoop
import HTTPClient
import ServiceBootstrap

/// The administration API of a system, as `--server` and `PARTITA_ADMIN_TOKEN` name it.
struct AdminServer: Sendable {
    private let url: String
    private let token: String
    private let http: HTTPClient

    private static let variable = "PARTITA_ADMIN_TOKEN"
    /// Longer than the proxy and the service let a call take.
    private static let timeout = Duration.seconds(330)
    /// An exported app with its packages.
    private static let answerLimit = 512 << 20

    /// Runs `body` with a client that is closed afterwards.
    static func run<R: Sendable>(_ url: String, _ body: (AdminServer) async throws -> R) async throws -> R {
        let http = HTTPClient(loop: LoopGroup(1).next())
        do {
            let result = try await body(try AdminServer(url, http))
            await http.shutDown()
            return result
        } catch {
            await http.shutDown()
            throw error
        }
    }

    private init(_ url: String, _ http: HTTPClient) throws {
        guard url.hasPrefix("http://") || url.hasPrefix("https://") else {
            throw UsageError("--server takes the URL of a system, such as https://backend.example.com, not \(url)")
        }
        do {
            guard let token = try SecretFile.value(of: Self.variable, in: CurrentEnvironment.variables)?.text,
                !token.isEmpty
            else {
                throw UsageError(
                    "\(Self.variable) isn't set: `partita admin-tokens create` makes a token where Postgres is at hand")
            }
            self.token = token
        } catch let error as SecretFileError {
            throw UsageError("\(Self.variable) \(error.message)")
        }
        self.url = url.hasSuffix("/") ? String(url.dropLast()) : url
        self.http = http
    }

    /// - Throws: `ToolError` with the stable code and the message of a refusal.
    func perform(_ call: AdminCall) async throws -> AdminAnswer {
        var request = HTTPClient.Request(
            method: call.action.route.method.rawValue, url: url + call.target,
            headers: [.init("Authorization", "Bearer \(token)")], body: call.body, timeout: Self.timeout,
            maximumResponseBytes: Self.answerLimit)
        if request.method == "PUT", request.body == nil { request.body = [] }
        let response: HTTPClient.Response
        do { response = try await http.send(request) } catch let error as HTTPClientError {
            throw ToolError("the server \(url): \(error.message)")
        }
        guard (200..<300).contains(response.status) else { throw Self.refusal(response, from: url) }
        if let about = response[header: "Partita-Export"].flatMap(\.removingPercentEncoding) {
            return AdminAnswer(try ExtendedJSON.parseDocument(about), archive: response.body)
        }
        return AdminAnswer(response.body.isEmpty ? nil : try ExtendedJSON.parseDocument(response.body))
    }

    private static func refusal(_ response: HTTPClient.Response, from url: String) -> ToolError {
        guard let body = try? ExtendedJSON.parseDocument(response.body),  // something else answered
            let message = body["error"]?.stringValue, let code = body["error_code"]?.stringValue
        else { return ToolError("the server \(url) answered with the HTTP status \(response.status)") }
        return ToolError("\(code): \(message)")
    }
}
