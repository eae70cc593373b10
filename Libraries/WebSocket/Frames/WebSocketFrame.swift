import EventLoop

/// A message that is encoded once and shared by all receivers.
///
/// A server's frame is unmasked, so all sockets can use the same bytes, and queue only a reference. If the frame is compressible,
/// its permessage-deflate form is made once, when the first socket that negotiated the extension needs it. (A client's frames are
/// each masked with a different key, so each send makes a copy.)
public final class WebSocketFrame: Sendable {
    /// The kind of a message.
    public enum Opcode: UInt8, Sendable {
        /// UTF-8.
        case text = 1
        /// Bytes.
        case binary = 2
    }

    private enum Compressed {
        case notMade
        case made(EncodedFrame)
        /// Deflating doesn't make it smaller.
        case useless
    }

    /// The kind of the message.
    public let opcode: Opcode
    let plain: EncodedFrame
    private let compressed: Locked<Compressed>?

    /// - Parameters:
    ///   - opcode: the kind; a text must be UTF-8, which isn't checked.
    ///   - payload: the bytes, which are copied.
    ///   - isCompressible: whether to deflate it for the sockets that negotiated compression. That is worthwhile for batches and
    ///     initial syncs; for a short message it costs more than it saves. Payloads under 128 bytes are never deflated.
    public init(_ opcode: Opcode, _ payload: UnsafeRawBufferPointer, isCompressible: Bool = false) {
        self.opcode = opcode
        plain = EncodedFrame(opcode: opcode.rawValue, payload)
        compressed = isCompressible && payload.count >= 128 ? Locked(.notMade) : nil
    }

    /// Creates a message from bytes, which are copied; see ``init(_:_:isCompressible:)``.
    public init(_ opcode: Opcode, _ payload: [UInt8], isCompressible: Bool = false) {
        self.opcode = opcode
        plain = payload.withUnsafeBytes { EncodedFrame(opcode: opcode.rawValue, $0) }
        compressed = isCompressible && payload.count >= 128 ? Locked(.notMade) : nil
    }

    /// Creates a text message.
    public convenience init(text: String, isCompressible: Bool = false) {
        self.init(.text, Array(text.utf8), isCompressible: isCompressible)
    }

    /// The number of bytes of the message before any compression.
    public var payloadCount: Int { plain.payload.count }

    /// The frame that a server's socket sends.
    func encoding(compressed isNegotiated: Bool) -> EncodedFrame {
        guard isNegotiated, let compressed else { return plain }
        return compressed.withLock { state in
            if case .notMade = state { state = deflated() }
            if case .made(let frame) = state { return frame }
            return plain
        }
    }

    private func deflated() -> Compressed {
        let frame = Deflater.withShared { deflater in
            deflater.deflate(plain.payload) { EncodedFrame(opcode: opcode.rawValue, $0, isCompressed: true) }
        }
        guard let frame, frame.count < plain.count else { return .useless }
        return .made(frame)
    }
}
