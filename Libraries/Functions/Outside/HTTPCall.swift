import DocumentModel
import Foundation
import FunctionProtocol
import HTTPClient

/// An HTTP request of a function: by `context.http`, or by a service of type `http`.
struct HTTPCall: Sendable {
    static let error = "HTTPError"
    /// The redirects that a request with `followRedirects` follows, as many as in Go's client, which App Services used.
    private static let maximumRedirects = 10
    /// The fields of a request; others are refused by name.
    private static let fields: Set<String> = [
        "url", "headers", "body", "encodeBodyAsJSON", "followRedirects", "digestAuth", "username", "password",
    ]

    /// `get`
    let action: String
    let arguments: Document

    init(_ action: String, _ arguments: Document) {
        self.action = action
        self.arguments = arguments
    }

    /// The arguments as rules see them: with the URL in its parts.
    /// - Throws: `EffectFailure` for a URL without scheme or host.
    func ruleArguments() throws -> Document {
        guard let parts = arguments["url"]?.stringValue.flatMap(HTTPClient.URLParts.init) else {
            throw EffectFailure(name: Self.error, message: "http.\(action): url must be a URL with http:// or https://")
        }
        var components = URLComponents()
        components.percentEncodedQuery = parts.query
        var query = Document()
        for item in components.queryItems ?? [] where query[item.name] == nil {
            query[item.name] = .string(item.value ?? "")
        }
        var result = arguments
        result["url"] = [
            "scheme": .string(parts.scheme), "host": .string(parts.host), "path": .string(parts.path),
            "query": .document(query), "fragment": .string(parts.fragment),
        ]
        return result
    }

    /// - Throws: `EffectFailure`, `HTTPClientError`, `CancellationError`.
    func perform(with client: HTTPClient) async throws -> Value {
        guard let url = arguments["url"]?.stringValue else {
            throw EffectFailure(name: Self.error, message: "http.\(action) needs a url")
        }
        for field in arguments.fields where !Self.fields.contains(field.key) {
            throw EffectFailure(name: Self.error, message: "http.\(action): \(field.key) is not supported")
        }
        var headers: [HTTPClient.Header] = []
        for field in arguments["headers"]?.documentValue?.fields ?? [] {
            let values = field.value.arrayValue ?? [field.value]
            headers += values.compactMap { $0.stringValue.map { HTTPClient.Header(field.key, $0) } }
        }
        var body: [UInt8]?
        switch arguments["body"] {
        case .string(let text)?: body = Array(text.utf8)
        case .binary(let binary)?: body = binary.bytes
        case let value? where arguments["encodeBodyAsJSON"]?.boolValue == true:
            var text: [UInt8] = []
            ExtendedJSON.append(value, mode: .relaxed, to: &text)
            body = text
        default: break
        }
        var request = HTTPClient.Request(
            method: action.uppercased(), url: url, headers: headers, body: body)
        if arguments["followRedirects"]?.boolValue == true { request.maximumRedirects = Self.maximumRedirects }
        if arguments["digestAuth"]?.boolValue == true {
            guard let username = arguments["username"]?.stringValue, let password = arguments["password"]?.stringValue
            else { throw EffectFailure(name: Self.error, message: "digestAuth needs a username and a password") }
            request.digestAuthentication = .init(username: username, password: password)
        }
        let response = try await client.send(request)
        var answer: [ExactText: [Value]] = [:]
        for header in response.headers { answer[header.name, default: []].append(.string(header.value)) }
        return .document([
            "status": .string("\(response.status)"), "statusCode": .int32(Int32(clamping: response.status)),
            "headers": .document(
                Document(fields: answer.sorted { $0.key < $1.key }.map { .init($0.key.text, .array($0.value)) })),
            "body": .binary(Binary(response.body)),
        ])
    }
}
