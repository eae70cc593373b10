/// Implements the rules of RFC 6455, sections 5 and 7, for frame pieces: it assembles messages and detects violations. Does no IO.
struct MessageAssembler {
    /// The event that a piece completed.
    enum Event: Equatable {
        case message(WebSocketFrame.Opcode, isCompressed: Bool, Content)
        case ping
        case pong
        case close(WebSocketCloseCode?, reason: String)
    }

    /// The location of the completed payload.
    enum Content: Equatable {
        /// The piece itself.
        case piece
        /// The assembled message: ``MessageAssembler/takeBuffer()``.
        case buffer
    }

    private let isServer: Bool
    private let allowsCompression: Bool
    /// The maximum size of messages from now on, in bytes.
    var maxMessageBytes: Int
    private var opcode: WebSocketFrame.Opcode?
    private var isCompressed = false
    private var buffer: [UInt8] = []
    /// The number of buffered bytes of an incomplete message.
    var pendingBytes: Int { buffer.count }
    private var text = UTF8Validator()
    /// The payload of the present control frame, at most 125 bytes.
    private(set) var control: [UInt8] = []

    /// - Parameter isServer: a server accepts only masked frames, a client only unmasked ones.
    init(isServer: Bool, allowsCompression: Bool, maxMessageBytes: Int) {
        self.isServer = isServer
        self.allowsCompression = allowsCompression
        self.maxMessageBytes = maxMessageBytes
    }

    /// Adds the next piece.
    /// - Returns: the event that it completes, if any.
    mutating func add(_ piece: FramePiece) throws(Violation) -> Event? {
        if piece.isFirst { try checkHeader(piece) }
        return piece.opcode >= 8 ? try addControl(piece) : try addData(piece)
    }

    /// Returns the assembled message, and clears the buffer.
    mutating func takeBuffer() -> [UInt8] {
        defer { buffer = [] }
        return buffer
    }

    private mutating func checkHeader(_ piece: FramePiece) throws(Violation) {
        guard piece.isMasked == isServer else {
            throw Violation(.protocolError, isServer ? "unmasked frame" : "masked frame")
        }
        let isStart = piece.opcode == 1 || piece.opcode == 2
        let marksCompression = piece.reserved == 4 && allowsCompression && isStart
        guard piece.reserved == 0 || marksCompression else { throw Violation(.protocolError, "reserved bit") }
        switch piece.opcode {
        case 0:
            if opcode == nil { throw Violation(.protocolError, "continuation without a start") }
        case 1, 2:
            if opcode != nil { throw Violation(.protocolError, "a message inside a fragmented message") }
            opcode = WebSocketFrame.Opcode(rawValue: piece.opcode)
            isCompressed = marksCompression
            text = UTF8Validator()
        case 8, 9, 10:
            control.removeAll(keepingCapacity: true)
            return
        default: throw Violation(.protocolError, "unknown opcode")
        }
        guard piece.length <= UInt64(maxMessageBytes - buffer.count) else {
            throw Violation(.messageTooBig, "message above \(maxMessageBytes) bytes")
        }
    }

    private mutating func addData(_ piece: FramePiece) throws(Violation) -> Event? {
        guard let opcode else { throw Violation(.protocolError, "continuation without a start") }
        let isEnd = piece.isLast && piece.isFinal
        if opcode == .text, !isCompressed {
            guard text.accept(piece.bytes), !isEnd || text.isComplete else {
                throw Violation(.invalidPayload, "text isn't UTF-8")
            }
        }
        let isWhole = isEnd && buffer.isEmpty
        if !isWhole { append(piece) }
        guard isEnd else { return nil }
        self.opcode = nil
        return .message(opcode, isCompressed: isCompressed, isWhole ? .piece : .buffer)
    }

    private mutating func append(_ piece: FramePiece) {
        if piece.isFirst, piece.isFinal, piece.length <= 1 << 16 {
            buffer.reserveCapacity(buffer.count + Int(piece.length))
        }
        buffer.append(contentsOf: piece.bytes)
    }

    private mutating func addControl(_ piece: FramePiece) throws(Violation) -> Event? {
        // wslay has refused fragmented control frames and those above 125 bytes.
        control.append(contentsOf: piece.bytes)
        guard piece.isLast else { return nil }
        switch piece.opcode {
        case 9: return .ping
        case 10: return .pong
        default: return try close()
        }
    }

    private func close() throws(Violation) -> Event {
        if control.isEmpty { return .close(nil, reason: "") }
        guard control.count >= 2 else { throw Violation(.protocolError, "close frame of one byte") }
        let code = WebSocketCloseCode(rawValue: UInt16(control[0]) << 8 | UInt16(control[1]))
        guard code.isSendable else { throw Violation(.protocolError, "close code \(code)") }
        guard let reason = String(validating: control[2...], as: UTF8.self) else {
            throw Violation(.invalidPayload, "close reason isn't UTF-8")
        }
        return .close(code, reason: reason)
    }
}
