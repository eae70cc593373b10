import DocumentModel

/// A hybrid logical clock: follows the wall clock, never goes back, and is later than every time that it has observed.
public struct HybridClock: Sendable {
    /// The latest reading.
    public private(set) var latest: HybridTime

    public init(latest: HybridTime = HybridTime(bits: 0)) { self.latest = latest }

    /// A reading that is later than all before.
    ///
    /// - Parameter milliseconds: The wall clock, since 1970.
    public mutating func tick(milliseconds: Int64) -> HybridTime {
        // Adding to the bits carries a full counter over into the milliseconds.
        latest = max(HybridTime(milliseconds: milliseconds), HybridTime(bits: latest.bits + 1))
        return latest
    }

    /// Observes a time of another clock, so that later readings are after it.
    public mutating func observe(_ time: HybridTime) { latest = max(latest, time) }
}
