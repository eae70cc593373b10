import DocumentModel
import FunctionProtocol
import HTTPClient

/// Performs the effects of functions other than document calls: HTTP requests.
struct OutsideEffects: Sendable {
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
        var headers: [HTTPClient.Header] = []
        for field in arguments["headers"]?.documentValue?.fields ?? [] {
            let values = field.value.arrayValue ?? [field.value]
            headers += values.compactMap { $0.stringValue.map { HTTPClient.Header(field.key, $0) } }
        }
        var body: [UInt8] = []
        switch arguments["body"] {
        case .string(let text)?: body = Array(text.utf8)
        case .binary(let binary)?: body = binary.bytes
        case let value? where arguments["encodeBodyAsJSON"]?.boolValue == true:
            ExtendedJSON.append(value, mode: .relaxed, to: &body)
        default: break
        }
        let response = try await http.send(
            HTTPClient.Request(method: effect.action.uppercased(), url: url, headers: headers, body: body))
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
