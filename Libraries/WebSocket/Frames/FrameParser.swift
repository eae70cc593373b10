import Cwslay

/// The receiving part of wslay: it splits bytes into frames, refuses lengths that aren't in their shortest form and control frames
/// that are fragmented or too long, and unmasks payloads. Its context takes 4 KiB, so a parser is lent to a socket only while a
/// frame is incomplete.
final class FrameParser {
    private var context: wslay_frame_context_ptr?
    private var input = UnsafeRawBufferPointer(start: nil, count: 0)
    /// The number of bytes that wslay has taken but not yet returned in a piece.
    private var buffered = 0
    private var remaining: UInt64 = 0
    private var isInsideFrame = false

    init?() {
        var callbacks = wslay_frame_callbacks()
        callbacks.recv_callback = { buffer, capacity, _, me in
            guard let buffer, let me else { return -1 }
            return Unmanaged<FrameParser>.fromOpaque(me).takeUnretainedValue().supply(buffer, capacity)
        }
        guard wslay_frame_context_init(&context, &callbacks, Unmanaged.passUnretained(self).toOpaque()) == 0 else {
            return nil
        }
    }

    deinit {
        if let context { wslay_frame_context_free(context) }
    }

    /// Whether it holds no part of a frame, so that another socket may use the parser.
    var isAtBoundary: Bool { !isInsideFrame && buffered == 0 && input.isEmpty }

    /// The input that wslay hasn't taken yet.
    var rest: UnsafeRawBufferPointer { input }

    /// Sets the input, which must stay valid until ``next()`` has returned `nil` or ``detachInput()`` is called.
    func feed(_ bytes: UnsafeRawBufferPointer) { input = bytes }

    /// Drops the input that wslay hasn't taken yet; the caller must have saved ``rest``.
    func detachInput() { input = UnsafeRawBufferPointer(start: nil, count: 0) }

    /// The next piece; `nil` when more input is needed. After an error the parser must not be used again.
    func next() throws(Violation) -> FramePiece? {
        var frame = wslay_frame_iocb()
        let count = wslay_frame_recv(context, &frame)
        if count == Int(WSLAY_ERR_WANT_READ.rawValue) { return nil }
        guard count >= 0 else { throw Violation(.protocolError, "malformed frame header") }
        let isFirst = !isInsideFrame
        if isFirst {
            let extended = frame.payload_length < 126 ? 0 : frame.payload_length < 65536 ? 2 : 8
            buffered -= 2 + extended + (frame.mask != 0 ? 4 : 0)
            remaining = frame.payload_length
        }
        buffered -= count
        remaining -= UInt64(count)
        isInsideFrame = remaining > 0
        return FramePiece(
            isFirst: isFirst, isLast: remaining == 0, isFinal: frame.fin != 0, reserved: frame.rsv,
            opcode: frame.opcode,
            length: frame.payload_length, isMasked: frame.mask != 0,
            bytes: UnsafeRawBufferPointer(start: frame.data, count: count))
    }

    private func supply(_ buffer: UnsafeMutablePointer<UInt8>, _ capacity: Int) -> Int {
        guard let base = input.baseAddress, !input.isEmpty else { return -1 }
        let count = min(capacity, input.count)
        UnsafeMutableRawPointer(buffer).copyMemory(from: base, byteCount: count)
        input = UnsafeRawBufferPointer(rebasing: input[count...])
        buffered += count
        return count
    }
}
