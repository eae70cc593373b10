import Foundation

/// A JSON Web Token as a client sees it: opaque except for its times.
struct AccessToken: Hashable, Sendable {
    let text: String
    /// When the token expires, in seconds since 1970.
    let expiry: Int64
    /// When it expires by the monotonic clock, which the device's date doesn't change; `nil` for a token that was stored.
    private let end: ContinuousClock.Instant?

    /// - Parameter received: when the backend's answer with it arrived; `nil` if that isn't known.
    /// - Returns: `nil` when the text isn't a token with an expiry.
    init?(_ text: String, received: ContinuousClock.Instant? = nil) {
        struct Claims: Decodable {
            var exp: Int64
            var iat: Int64?
        }
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
        // Both are times of the backend's clock.
        if let received, let issued = claims.iat, issued <= claims.exp {
            end = received + .seconds(claims.exp - issued)
        } else {
            end = nil
        }
    }

    /// How long it is still valid.
    func remaining(nowMilliseconds: Int64) -> Duration {
        if let end { end - .now } else { .seconds(expiry) - .milliseconds(nowMilliseconds) }
    }
}
