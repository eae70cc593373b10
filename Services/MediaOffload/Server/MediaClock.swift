import Foundation

/// The time of the machine.
enum MediaClock {
    /// Milliseconds since 1970.
    static func now() -> Int64 { Int64(Date().timeIntervalSince1970 * 1000) }
}
