import Foundation

/// The time of the day. It may jump, in both directions, when the machine's clock is set: what measures how long something takes uses
/// `ContinuousClock`.
public struct WallClock: Sendable {
    /// Milliseconds since 1970, as dates in documents have them.
    public let now: @Sendable () -> Int64

    /// A clock of one's own, for tests.
    public init(_ now: @escaping @Sendable () -> Int64) { self.now = now }

    /// The machine's.
    public static let system = WallClock { Int64(Date().timeIntervalSince1970 * 1000) }

    /// Seconds since 1970, as tokens have them.
    public var seconds: Int64 { now() / 1000 }
}
