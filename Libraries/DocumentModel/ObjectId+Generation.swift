import Foundation

extension ObjectId {
    /// A new id: the present second, five bytes that are random for the process, and a counter.
    public init() {
        self = Generator.shared.next(seconds: UInt32(truncatingIfNeeded: WallClock.system.seconds))
    }

    /// The second since 1970 in which the id was made.
    public var seconds: UInt32 { UInt32(truncatingIfNeeded: high >> 32) }

    /// The 12 bytes in their order.
    public var bytes: [UInt8] {
        withUnsafeBytes(of: high.bigEndian, Array.init) + withUnsafeBytes(of: low.bigEndian, Array.init)
    }

    /// Makes ids that differ from each other, and increase within a second.
    ///
    /// `@unchecked Sendable`: the counter is only touched under the lock, the rest never changes.
    public final class Generator: @unchecked Sendable {
        static let shared = Generator()
        private let lock = NSLock()
        private let random: UInt64
        private var counter: UInt32

        /// A generator with its own random part; pass a seeded source for ids that a test can foresee.
        public init(using source: inout some RandomNumberGenerator) {
            random = UInt64.random(in: 0..<1 << 40, using: &source)
            counter = UInt32.random(in: 0..<1 << 24, using: &source)
        }

        private convenience init() {
            var source = SystemRandomNumberGenerator()
            self.init(using: &source)
        }

        /// The next id at this second since 1970.
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
