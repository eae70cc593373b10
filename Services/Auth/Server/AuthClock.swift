import Foundation

/// The time that auth goes by; tests have their own.
struct AuthClock: Sendable {
    /// Milliseconds since 1970.
    var now: @Sendable () -> Int64

    static let system = AuthClock { Int64(Date().timeIntervalSince1970 * 1000) }

    /// Seconds since 1970, as tokens count.
    var seconds: Int64 { now() / 1000 }
}
