public import AccessTokens
public import AppDefinition
public import DocumentModel
import Foundation
import Functions
public import HTTPServer

extension HTTPRequest {
    /// The user whose access token the request carries.
    /// - Parameter parameter: the query parameter that may hold the token, for clients that can't set headers.
    /// - Throws: `HTTPError` 401 `InvalidSession`, also when the session has ended or the account is deleted; 403 `UserDisabled`;
    ///   503 `ServiceUnavailable` right after the start, while tokens can't be checked yet.
    public func caller(
        of app: String, access: AccessCheck, parameter: String? = nil
    ) throws(HTTPError) -> RuleUser {
        RuleUser(try claims(of: app, access: access, parameter: parameter))
    }

    /// The claims of the access token that the request carries, whose user may call now.
    /// - Parameter parameter: as in `caller`.
    /// - Throws: as `caller`.
    public func claims(
        of app: String, access: AccessCheck, parameter: String? = nil
    ) throws(HTTPError) -> TokenClaims {
        let bearer = headers["authorization"].flatMap { header in
            header.lowercased().hasPrefix("bearer ") ? String(header.dropFirst("bearer ".count)) : nil
        }
        guard let token = bearer ?? parameter.flatMap({ query[$0] }) else {
            let places = "Authorization: Bearer …" + (parameter.map { ", or ?\($0)=…" } ?? "")
            throw HTTPError(401, code: "InvalidSession", "an access token is needed: \(places)")
        }
        guard access.isLoaded else { throw HTTPError(503, code: "ServiceUnavailable", "accounts aren't loaded yet") }
        let claims: TokenClaims
        do {
            claims = try access.verifier.verify(token, app: app, now: access.clock.seconds)
        } catch {
            throw HTTPError(401, code: "InvalidSession", error.message)
        }
        switch access.shutOut.reason(claims) {
        case nil: break
        case .disabled: throw HTTPError(403, code: "UserDisabled", "user disabled")
        case .deleted: throw HTTPError(401, code: "InvalidSession", "the account is deleted")
        case .sessionEnded: throw HTTPError(401, code: "InvalidSession", "the session has ended")
        }
        return claims
    }

    /// The request in the form of `context.request` and `%%request`, without the caller's token.
    ///
    /// - Parameters:
    ///   - service: the service that is called, when it isn't a function.
    ///   - action: what is called.
    public func description(service: String, action: String) -> Document {
        // The query may hold the caller's token or the endpoint's secret.
        let secrets = ["secret", "baas_at"]
        let query = query.raw.split(separator: "&").filter { pair in
            !secrets.contains { pair == $0 || pair.hasPrefix($0 + "=") }
        }
        var request: Document = [
            "remoteIPAddress": .string(remoteAddress.ip),
            "requestHeaders": .document(titledHeaders(without: ["authorization", "cookie"])),
            "httpMethod": .string(method.rawValue), "rawQueryString": .string(query.joined(separator: "&")),
            "service": .string(service), "action": .string(action),
        ]
        request["httpReferrer"] = headers["referer"].map { .string($0) }
        request["httpUserAgent"] = headers["user-agent"].map { .string($0) }
        return request
    }

    /// The header fields as functions see them: names such as `Content-Type`, each with an array of values.
    /// - Parameter hidden: the names to leave out, in lower case.
    public func titledHeaders(without hidden: [String]) -> Document {
        Document(titledHeaders: headers.lazy.filter { !hidden.contains($0.name) })
    }

    /// The body as Extended JSON.
    /// - Throws: `HTTPError` 400 `BadRequest`.
    public func document() throws(HTTPError) -> Document {
        do {
            return try ExtendedJSON.parseDocument(body, limits: .input)
        } catch {
            throw HTTPError(400, code: "BadRequest", "the body must be an Extended JSON object: \(error)")
        }
    }
}

extension Document {
    /// A string field of a body; `nil` when it is absent or null.
    /// - Throws: `HTTPError` 400 `InvalidParameter` for a value of another type.
    public func text(_ name: String) throws(HTTPError) -> String? {
        switch self[name] {
        case nil, .null?: return nil
        case .string(let text)?: return text
        default: throw HTTPError(400, code: "InvalidParameter", "\(name) must be a string")
        }
    }
}
