import Foundation

extension ObjectId {
    /// A new id: the current second, five random bytes that are constant for the process, and a counter.
    public init() {
        self = Generator.shared.next(seconds: UInt32(truncatingIfNeeded: WallClock.system.seconds))
    }

    /// The seconds since 1970 at which the id was generated.
    public var seconds: UInt32 { UInt32(truncatingIfNeeded: high >> 32) }

    /// The 12 bytes in their order.
    public var bytes: [UInt8] {
        withUnsafeBytes(of: high.bigEndian, Array.init) + withUnsafeBytes(of: low.bigEndian, Array.init)
    }

    /// Generates unique ids, which increase within a second.
    ///
    /// `@unchecked Sendable`: the counter is only accessed under the lock, everything else is immutable.
    public final class Generator: @unchecked Sendable {
        static let shared = Generator()
        private let lock = NSLock()
        private let random: UInt64
        private var counter: UInt32

        /// A generator with its own random part; tests can pass a seeded source to get predictable ids.
        public init(using source: inout some RandomNumberGenerator) {
            random = UInt64.random(in: 0..<1 << 40, using: &source)
            counter = UInt32.random(in: 0..<1 << 24, using: &source)
        }

        private convenience init() {
            var source = SystemRandomNumberGenerator()
            self.init(using: &source)
        }

        /// The next id for this number of seconds since 1970.
        public func next(seconds: UInt32) -> ObjectId {
            let count = lock.withLock {
                counter = (counter &+ 1) & 0xFF_FFFF
                return counter
            }
            return ObjectId(
                high: UInt64(seconds) << 32 | random >> 8, low: UInt32(truncatingIfNeeded: random & 0xFF) << 24 | count)
        }
    }
}
