/// A reading of a hybrid logical clock (Kulkarni et al. 2014): wall-clock milliseconds, and a counter for events within one
/// millisecond.
public struct HybridTime: Hashable, Comparable, Sendable {
    /// Milliseconds since 1970 (48 bits) in the upper bits, the counter (16 bits) in the lower.
    public var bits: Int64

    public init(bits: Int64) { self.bits = bits }
    public init(milliseconds: Int64, counter: UInt16 = 0) { bits = milliseconds << 16 | Int64(counter) }

    public var milliseconds: Int64 { bits >> 16 }
    public var counter: UInt16 { UInt16(truncatingIfNeeded: bits) }

    public static func < (a: HybridTime, b: HybridTime) -> Bool { a.bits < b.bits }
}
