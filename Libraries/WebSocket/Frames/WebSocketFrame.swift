import EventLoop

/// A message that is framed once and shared by every receiver.
///
/// A server's frame is unmasked, so the same bytes serve all sockets; what is queued is a reference. If the frame is
/// compressible, its permessage-deflate form is made once, when the first socket that negotiated the extension needs
/// it. (A client's frames are masked with a key of their own, so each send copies.)
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
        /// Deflating it made it no smaller.
        case useless
    }

    /// The kind of the message.
    public let opcode: Opcode
    let plain: EncodedFrame
    private let compressed: Locked<Compressed>?

    /// - Parameters:
    ///   - opcode: the kind; a text must be UTF-8, which isn't checked.
    ///   - payload: copied.
    ///   - isCompressible: worth deflating for the sockets that negotiated it. Batches and initial syncs are; a short
    ///     message costs more than it saves. Payloads under 128 bytes never are.
    public init(_ opcode: Opcode, _ payload: UnsafeRawBufferPointer, isCompressible: Bool = false) {
        self.opcode = opcode
        plain = EncodedFrame(opcode: opcode.rawValue, payload)
        compressed = isCompressible && payload.count >= 128 ? Locked(.notMade) : nil
    }

    /// A message from bytes, copied; see ``init(_:_:isCompressible:)``.
    public init(_ opcode: Opcode, _ payload: [UInt8], isCompressible: Bool = false) {
        self.opcode = opcode
        plain = payload.withUnsafeBytes { EncodedFrame(opcode: opcode.rawValue, $0) }
        compressed = isCompressible && payload.count >= 128 ? Locked(.notMade) : nil
    }

    /// A text message.
    public convenience init(text: String, isCompressible: Bool = false) {
        self.init(.text, Array(text.utf8), isCompressible: isCompressible)
    }

    /// The number of bytes of the message before any compression.
    public var payloadCount: Int { plain.payload.count }

    /// What goes on the wire to a socket of a server.
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
