import AppDefinition
import DocumentModel
import HTTPClient
import Texts

/// Checks access tokens of Facebook with its Graph API, which has no ID tokens for them.
struct FacebookGraph: Sendable {
    let addresses: IssuerAddresses
    let client: IssuerClient

    private static let defaultFields = ["id", "name"]

    /// Who an access token is for, as claims: `sub` is Facebook's id of the user, for this app.
    ///
    /// - Parameters:
    ///   - secret: the app's with Facebook.
    ///   - fields: what is read of the user besides.
    /// - Throws: `authError` when Facebook refuses the token, or it is another app's: any app could pass on its users' tokens.
    func claims(of token: String, settings: OAuthSettings, secret: String, fields: [String]) async throws -> Document {
        let known = try await get(
            "debug_token", [("input_token", token), ("access_token", settings.clientId + "|" + secret)])
        guard let data = known["data"]?.documentValue, data["is_valid"] == true, let id = Self.text(data["user_id"]),
            let app = Self.text(data["app_id"]), app.hasSameBytes(as: settings.clientId)
        else { throw AuthError(.authError, "the token is refused: it isn't valid for this app") }
        let names = (Self.defaultFields + fields.map(Self.graphName)).reduce(into: [String]()) {
            if !$0.contains($1) { $0.append($1) }
        }
        let user = try await get(
            "me",
            [
                ("fields", names.joined(separator: ",")), ("access_token", token),
                ("appsecret_proof", Hex.text(HashFunctions.hmacSHA256(token, key: secret))),
            ])
        guard let shown = Self.text(user["id"]), shown.hasSameBytes(as: id) else {
            throw AuthError(.authError, "the token is refused: it isn't its user's")
        }
        var claims = user
        claims["id"] = nil
        claims["sub"] = .string(id)
        if let picture = user["picture"]?["data"]?["url"] { claims["picture"] = picture }
        for (name, bound) in [("min_age", "min"), ("max_age", "max")] {
            if let age = user["age_range"]?[bound] { claims[name] = age }
        }
        return claims
    }

    /// The access token for a code.
    func exchange(
        code: String, settings: OAuthSettings, secret: String, redirect: String, verifier: String
    ) async throws -> String {
        let answer = try await client.post(
            [
                ("client_id", settings.clientId), ("client_secret", secret), ("code", code), ("redirect_uri", redirect),
                ("code_verifier", verifier),
            ], to: addresses.facebook + "/oauth/access_token")
        guard answer.status == 200, let token = answer.document["access_token"]?.stringValue else {
            throw AuthError(.authError, "the identity provider refuses the code")
        }
        return token
    }

    /// A field's name in the Graph API, by the one that apps configure.
    private static func graphName(_ name: String) -> String {
        ["min_age", "max_age"].contains(name) ? "age_range" : name
    }

    private static func text(_ value: Value?) -> String? { value?.stringValue ?? value?.int64Value.map { "\($0)" } }

    private func get(_ path: String, _ query: [(name: String, value: String)]) async throws -> Document {
        let answer = try await client.send(
            HTTPClient.Request(
                url: FormEncoding.url("\(addresses.facebook)/\(path)", adding: query),
                headers: [.init("Accept", "application/json")]))
        guard answer.status == 200 else {
            throw AuthError(.authError, "the token is refused by Facebook with status \(answer.status)")
        }
        return answer.document
    }
}
