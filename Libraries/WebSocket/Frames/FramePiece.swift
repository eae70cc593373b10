/// A received part of a frame's payload, unmasked.
struct FramePiece {
    /// Whether it is the first piece of its frame, so that the header's rules must be checked.
    var isFirst: Bool
    /// Whether it is the last piece of its frame.
    var isLast: Bool
    /// FIN: whether the frame is the last of its message.
    var isFinal: Bool
    /// RSV1, RSV2, RSV3 in the bits 4, 2, 1.
    var reserved: UInt8
    var opcode: UInt8
    /// The payload length of the whole frame.
    var length: UInt64
    var isMasked: Bool
    /// The unmasked bytes, valid until the next call of the parser.
    var bytes: UnsafeRawBufferPointer
}

/// A peer's violation of the protocol, with the close code to answer with.
struct Violation: Error, Equatable {
    var code: WebSocketCloseCode
    var reason: String

    init(_ code: WebSocketCloseCode, _ reason: String) {
        self.code = code
        self.reason = reason
    }
}
