import DocumentModel
import FunctionProtocol
import HTTPClient

/// Performs the effects of functions other than document calls: HTTP requests.
struct OutsideEffects: Sendable {
    /// The redirects that a request with `followRedirects` follows, as many as in Go's client, which App Services used.
    private static let maximumRedirects = 10
    /// The fields of a request; others are refused by name.
    private static let fields: Set<String> = [
        "url", "headers", "body", "encodeBodyAsJSON", "followRedirects", "digestAuth", "username", "password",
    ]

    let http: HTTPClient

    func perform(_ effect: FunctionEffect) async -> Result<Value, EffectFailure> {
        guard effect.service == "http" else {
            return .failure(
                EffectFailure(name: "ServiceNotFound", message: "the service \(effect.service) is not supported"))
        }
        do {
            return .success(try await request(effect))
        } catch let failure as EffectFailure {
            return .failure(failure)
        } catch let error as HTTPClientError where error.code == .refused {
            return .failure(EffectFailure(name: "RestrictedHost", message: "http.\(effect.action): \(error.message)"))
        } catch {
            return .failure(EffectFailure(name: "HTTPError", message: "\(error)"))
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
