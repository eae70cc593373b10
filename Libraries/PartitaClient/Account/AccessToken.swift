import Foundation

/// A JSON Web Token as a client sees it: opaque except for its expiry.
struct AccessToken: Hashable, Sendable {
    let text: String
    /// When the token expires, in seconds since 1970.
    let expiry: Int64

    /// - Returns: `nil` when the text isn't a token with an expiry.
    init?(_ text: String) {
        struct Claims: Decodable { var exp: Int64 }
        let parts = text.split(separator: ".", omittingEmptySubsequences: false)
        guard parts.count == 3 else { return nil }
        var payload = String(parts[1]).replacing("-", with: "+").replacing("_", with: "/")
        payload += String(repeating: "=", count: (4 - payload.count % 4) % 4)
        guard let data = Data(base64Encoded: payload),
            // A payload that isn't such an object isn't a token; the error doesn't matter.
            let claims = try? JSONDecoder().decode(Claims.self, from: data)
        else { return nil }
        self.text = text
        expiry = claims.exp
    }

    /// How long it is still valid.
    func remaining(nowMilliseconds: Int64) -> Duration { .seconds(expiry) - .milliseconds(nowMilliseconds) }
}
