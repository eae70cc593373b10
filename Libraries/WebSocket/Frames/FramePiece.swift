/// A part of a frame's payload as it comes off the wire, unmasked.
struct FramePiece {
    /// The first piece of its frame: the header's rules are to be checked.
    var isFirst: Bool
    /// The last piece of its frame.
    var isLast: Bool
    /// FIN: the frame is the last of its message.
    var isFinal: Bool
    /// RSV1, RSV2, RSV3 in the bits 4, 2, 1.
    var reserved: UInt8
    var opcode: UInt8
    /// The payload length of the whole frame.
    var length: UInt64
    var isMasked: Bool
    /// Valid until the parser is asked for the next piece.
    var bytes: UnsafeRawBufferPointer
}

/// What a peer did wrong, and the close code that answers it.
struct Violation: Error, Equatable {
    var code: WebSocketCloseCode
    var reason: String

    init(_ code: WebSocketCloseCode, _ reason: String) {
        self.code = code
        self.reason = reason
    }
}
