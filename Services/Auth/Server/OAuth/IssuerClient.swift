import DocumentModel
import EventLoop
import HTTPClient

/// Requests to issuers of tokens, whose addresses come from apps and from the issuers themselves: https only, to the addresses that the
/// operator allows, without redirects, with limits of size and time.
struct IssuerClient: Sendable {
    /// A JSON object that an issuer answered with.
    struct Answer: Sendable {
        var status: Int
        var document: Document
        var cacheControl: String?
    }

    private static let maximumBytes = 256 << 10

    private let http: HTTPClient
    private let allowsPlain: Bool

    /// - Parameters:
    ///   - allowsPlain: whether requests are sent by `http:` too.
    ///   - egress: where requests may be sent.
    init(loop: EventLoop, allowsPlain: Bool, egress: EgressPolicy) {
        self.allowsPlain = allowsPlain
        var configuration = HTTPClient.Configuration()
        configuration.timeout = .seconds(5)
        configuration.connectTimeout = .seconds(3)
        configuration.maximumResponseBytes = Self.maximumBytes
        configuration.egress = egress
        http = HTTPClient(loop: loop, configuration: configuration)
    }

    /// Sends a request.
    ///
    /// - Throws: `PlainIssuerError` for a URL that isn't `https:`; `IssuerUnavailableError` without an answer, for an answer that isn't a
    ///   JSON object, and for a server's error.
    func send(_ request: HTTPClient.Request) async throws -> Answer {
        // The query may have a secret.
        let address = request.url.prefix { $0 != "?" }
        guard allowsPlain || request.url.lowercased().hasPrefix("https://") else {
            throw PlainIssuerError(url: String(address))
        }
        let response: HTTPClient.Response
        do {
            response = try await http.send(request)
        } catch let error as HTTPClientError {
            throw IssuerUnavailableError(message: "\(address): \(error)")
        }
        guard response.status < 500, response.status != 429 else {
            throw IssuerUnavailableError(message: "\(address) answered with status \(response.status)")
        }
        guard let document = try? ExtendedJSON.parseDocument(response.body, limits: .input) else {
            throw IssuerUnavailableError(
                message: "\(address) answered with status \(response.status), and with no JSON object")
        }
        return Answer(status: response.status, document: document, cacheControl: response[header: "cache-control"])
    }

    /// Sends a form (`application/x-www-form-urlencoded`).
    func post(
        _ form: [(name: String, value: String)], to url: String, headers: [HTTPClient.Header] = []
    ) async throws -> Answer {
        try await send(
            HTTPClient.Request(
                method: "POST", url: url,
                headers: [
                    .init("Accept", "application/json"), .init("Content-Type", "application/x-www-form-urlencoded"),
                ] + headers, body: Array(FormEncoding.encode(form).utf8)))
    }
}

/// A request that isn't sent, since it could be read or changed in transit.
struct PlainIssuerError: Error, CustomStringConvertible {
    var url: String
    var description: String {
        "\(url) is not requested: it must be https, or auth.allowPlainKeySets true (for development)"
    }
}

/// An issuer that gives no usable answer.
struct IssuerUnavailableError: Error, CustomStringConvertible {
    var message: String
    var description: String { message }
}
