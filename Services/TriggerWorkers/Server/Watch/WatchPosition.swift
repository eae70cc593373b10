import EventLoop
import Secrets

/// A place between two messages of the topic as a whole. A stream that continues there misses nothing, and repeats nothing, of what
/// comes after it.
final class WatchPosition: Sendable {
    /// The first byte of a token.
    private static let version: UInt8 = 1

    /// The offset of the next message of each partition of the topic.
    let offsets: [Int64]
    /// The database's epoch.
    let epoch: Int32
    /// When the position was taken, in milliseconds since 1970. All messages before it are older, but for differences between clocks.
    let time: Int64
    private let sealed = Locked<String?>(nil)

    init(offsets: [Int64], epoch: Int32, time: Int64) {
        self.offsets = offsets
        self.epoch = epoch
        self.time = time
    }

    /// - Returns: `nil` for what `token` hasn't made.
    init?(_ token: String, _ sealer: TokenSealer) {
        guard let bytes = sealer.open(token), bytes.first == Self.version else { return nil }
        var numbers: [Int64] = []
        var (number, shift): (UInt64, UInt64) = (0, 0)
        for byte in bytes.dropFirst() {
            number |= UInt64(byte & 0x7F) << shift
            shift += 7
            if byte & 0x80 != 0 { continue }
            numbers.append(Int64(truncatingIfNeeded: number))
            (number, shift) = (0, 0)
        }
        guard numbers.count > 2, shift == 0, let epoch = Int32(exactly: numbers[0]) else { return nil }
        (self.epoch, time, offsets) = (epoch, numbers[1], Array(numbers.dropFirst(2)))
    }

    /// The place that is the later one of both in each partition; this one if it is.
    func orLater(_ others: [Int64]) -> WatchPosition {
        guard zip(offsets, others).contains(where: { $0 < $1 }) else { return self }
        return WatchPosition(offsets: zip(offsets, others).map(max), epoch: epoch, time: time)
    }

    /// What a client gives back in order to continue here. Encrypted: an offset would tell how many changes there are that the client
    /// doesn't see. The same for all streams.
    func token(_ sealer: TokenSealer) -> String {
        if let token = sealed.withLock({ $0 }) { return token }
        var bytes = [Self.version]
        for number in [Int64(epoch), time] + offsets {
            // LEB128, as most numbers are small.
            var rest = UInt64(bitPattern: number)
            while rest >= 0x80 {
                bytes.append(UInt8(truncatingIfNeeded: rest) | 0x80)
                rest >>= 7
            }
            bytes.append(UInt8(rest))
        }
        let token = sealer.seal(bytes)
        sealed.withLock { $0 = token }
        return token
    }
}
