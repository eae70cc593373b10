import Cmicrohttpd
import EventLoop

/// A large complete body, of which libmicrohttpd reads one piece after the other: so there is no second copy of it. libmicrohttpd keeps it
/// until it destroys the response. Loop only.
final class BufferedAnswer {
    /// Smaller bodies are copied, which costs less than reading them in pieces; a budget doesn't count them either.
    static let leastBytes = InflightBudget.uncounted
    private static let pieceBytes = 64 << 10

    private let bytes: [UInt8]
    private let exchange: HTTPExchange

    private init(_ bytes: [UInt8], _ exchange: HTTPExchange) {
        self.bytes = bytes
        self.exchange = exchange
    }

    /// A response of libmicrohttpd with the body; `nil` when it has no memory.
    static func response(_ bytes: [UInt8], _ exchange: HTTPExchange) -> OpaquePointer? {
        let answer = Unmanaged.passRetained(BufferedAnswer(bytes, exchange))
        let response = MHD_create_response_from_callback(
            UInt64(bytes.count), pieceBytes, readCallback, answer.toOpaque(),
            { answer in if let answer { Unmanaged<BufferedAnswer>.fromOpaque(answer).release() } })
        // Otherwise libmicrohttpd releases it.
        if response == nil { answer.release() }
        return response
    }

    private static let readCallback: MHD_ContentReaderCallback = { me, position, buffer, capacity in
        // -2 is libmicrohttpd's value for an error, which Swift doesn't import because it is a cast.
        guard let me, let buffer else { return -2 }
        let target = UnsafeMutableRawBufferPointer(start: buffer, count: capacity)
        return Unmanaged<BufferedAnswer>.fromOpaque(me).takeUnretainedValue().read(from: position, into: target)
    }

    private func read(from position: UInt64, into buffer: UnsafeMutableRawBufferPointer) -> Int {
        // What comes before the position was passed to the kernel.
        exchange.progress?.bytes = position
        let piece = bytes[min(Int(position), bytes.count)...].prefix(buffer.count)
        buffer.copyBytes(from: piece)
        return piece.count
    }
}
