import DocumentModel

/// Brings a device's clock onto the server's: corrects it by the device's offset at the upload, then clamps it to the
/// server's time, so that a device with a wrong clock neither wins nor loses by it.
public struct ClockCorrection: Hashable, Sendable {
    /// How far the device's wall clock is behind the gateway's, in milliseconds; negative when it is ahead.
    public var offset: Int64

    /// - Parameters:
    ///   - sentAt: The device's wall clock when it sent the upload, milliseconds since 1970.
    ///   - receivedAt: The gateway's wall clock when the upload arrived.
    public init(sentAt: Int64, receivedAt: Int64) {
        // The range keeps the arithmetic below from overflowing, whatever a device sends.
        let bound: Int64 = 1 << 46
        offset = receivedAt.clamped(to: -bound...bound) - sentAt.clamped(to: -bound...bound)
    }

    /// The time that is used for a changeset.
    ///
    /// - Parameter now: The gateway's time, which the result never exceeds.
    public func corrected(_ clock: HybridTime, now: HybridTime) -> HybridTime {
        let milliseconds = max(clock.milliseconds + offset, 0)
        guard milliseconds < 1 << 47 else { return now }
        return min(HybridTime(milliseconds: milliseconds, counter: clock.counter), now)
    }
}

extension Comparable {
    fileprivate func clamped(to range: ClosedRange<Self>) -> Self { min(max(self, range.lowerBound), range.upperBound) }
}
