import Foundation

/// The wall-clock time. It may jump in both directions when the machine's clock is set: durations are measured with
/// `ContinuousClock`.
public struct WallClock: Sendable {
    /// The milliseconds since 1970, as in documents' dates.
    public let now: @Sendable () -> Int64

    /// A custom clock, for tests.
    public init(_ now: @escaping @Sendable () -> Int64) { self.now = now }

    /// The machine's clock.
    public static let system = WallClock { Int64(Date().timeIntervalSince1970 * 1000) }

    /// The seconds since 1970, as in tokens.
    public var seconds: Int64 { now() / 1000 }
}
