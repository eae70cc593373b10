import AccessTokens
import AppDefinition
import HTTPServer

/// Whether a request may call an endpoint.
struct EndpointValidation: Sendable {
    private static let signaturePrefix = "sha256="

    let app: AppDefinition

    /// - Throws: `HTTPError` 401 `Unauthorized`; 503 `ServiceUnavailable` while the app's secret isn't set.
    func check(_ request: HTTPRequest, _ endpoint: HTTPEndpoint) throws(HTTPError) {
        let given: String?
        switch endpoint.validation.secret {
        case nil: return
        case .named(let name)?: given = app.secrets[name]
        case .text(let text)?: given = text
        }
        guard let secret = given, !secret.isEmpty else {
            throw HTTPError(503, code: "ServiceUnavailable", "the secret that this endpoint checks isn't set")
        }
        switch endpoint.validation {
        case .none: return
        case .secretInQuery:
            guard let sent = request.query["secret"], SharedSecret.isSame(sent, secret) else {
                throw HTTPError(401, code: "Unauthorized", "the query parameter secret must be the endpoint's secret")
            }
        case .signedBody(_, let header):
            guard let code = Self.code(request.headers[header.lowercased()]),
                SharedSecret.isHMAC(code, of: request.body, secret: Array(secret.utf8))
            else {
                throw HTTPError(
                    401, code: "Unauthorized",
                    "\(header) must be sha256= and the hexadecimal HMAC-SHA256 of the body")
            }
        }
    }

    /// The bytes of a signature; `nil` when it isn't one.
    private static func code(_ field: String?) -> [UInt8]? {
        guard let field, field.startsWithBytes(of: signaturePrefix) else { return nil }
        let digits = Array(field.utf8.dropFirst(signaturePrefix.utf8.count))
        guard digits.count == 64 else { return nil }
        var bytes: [UInt8] = []
        for place in stride(from: 0, to: digits.count, by: 2) {
            guard let high = Character(Unicode.Scalar(digits[place])).hexDigitValue,
                let low = Character(Unicode.Scalar(digits[place + 1])).hexDigitValue
            else { return nil }
            bytes.append(UInt8(high << 4 | low))
        }
        return bytes
    }
}
