public import AppDefinition
public import DocumentModel
public import FunctionProtocol
public import HTTPClient

/// Performs the effects of functions other than document calls: HTTP requests, and calls of other vendors' services.
public struct OutsideEffects: Sendable {
    /// The redirects that a request with `followRedirects` follows, as many as in Go's client, which App Services used.
    private static let maximumRedirects = 10
    /// The fields of a request; others are refused by name.
    private static let fields: Set<String> = [
        "url", "headers", "body", "encodeBodyAsJSON", "followRedirects", "digestAuth", "username", "password",
    ]

    private let http: HTTPClient

    /// - Parameter http: sends the requests; its egress policy and its limits hold for all of them.
    public init(http: HTTPClient) { self.http = http }

    /// - Parameter access: on whose behalf the function that has the effect runs; a user needs the permission of a service's rules.
    public func perform(
        _ effect: FunctionEffect, of app: AppDefinition, as access: DataAccess
    ) async -> Result<Value, EffectFailure> {
        let isRequest = effect.service == "http"
        do {
            guard !isRequest else { return .success(try await request(effect)) }
            return .success(try await ServiceCall(effect, of: app).perform(with: http, as: access))
        } catch let failure as EffectFailure {
            return .failure(failure)
        } catch let error as HTTPClientError where error.code == .refused {
            return .failure(
                EffectFailure(
                    name: "RestrictedHost", message: "\(effect.service).\(effect.action): \(error.message)"))
        } catch {
            return .failure(
                EffectFailure(
                    name: "HTTPError",
                    message: isRequest ? "\(error)" : "\(effect.service).\(effect.action): \(error)"))
        }
    }

    private func request(_ effect: FunctionEffect) async throws -> Value {
        let arguments = effect.arguments
        guard let url = arguments["url"]?.stringValue else {
            throw EffectFailure(name: "HTTPError", message: "http.\(effect.action) needs a url")
        }
        for field in arguments.fields where !Self.fields.contains(field.key) {
            throw EffectFailure(name: "HTTPError", message: "http.\(effect.action): \(field.key) is not supported")
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
            method: effect.action.uppercased(), url: url, headers: headers, body: body)
        if arguments["followRedirects"]?.boolValue == true { request.maximumRedirects = Self.maximumRedirects }
        if arguments["digestAuth"]?.boolValue == true {
            guard let username = arguments["username"]?.stringValue, let password = arguments["password"]?.stringValue
            else { throw EffectFailure(name: "HTTPError", message: "digestAuth needs a username and a password") }
            request.digestAuthentication = .init(username: username, password: password)
        }
        let response = try await http.send(request)
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
