import DocumentModel

/// Frames on a stream of bytes: four bytes of length, most significant first, then that many bytes of canonical Extended JSON.
public struct FrameBuffer: Sendable {
    /// The maximum size of a frame. It is larger than any document, so that a function can receive one and return it with
    /// additional data.
    public static let maximumBytes = 40 << 20

    private var bytes: [UInt8] = []
    private var start = 0

    public init() {}

    public static func encode(_ document: Document) -> [UInt8] {
        var frame: [UInt8] = [0, 0, 0, 0]
        ExtendedJSON.append(document, mode: .exact, to: &frame)
        let count = UInt32(frame.count - 4)
        for index in 0..<4 { frame[index] = UInt8(truncatingIfNeeded: count >> (24 - 8 * UInt32(index))) }
        return frame
    }

    public mutating func append(_ more: UnsafeRawBufferPointer) {
        if start > 0, start == bytes.count {
            bytes.removeAll(keepingCapacity: bytes.capacity < 1 << 20)
            start = 0
        } else if start > 1 << 20, start > bytes.count / 2 {
            // On a busy stream there is nearly always the beginning of another frame.
            bytes.removeFirst(start)
            start = 0
        }
        bytes.append(contentsOf: more)
    }

    /// The next complete frame; `nil` until its last byte is received.
    /// - Throws: `FunctionProtocolError` for a length beyond the limit, or bytes that aren't a document.
    public mutating func next() throws(FunctionProtocolError) -> Document? {
        guard bytes.count - start >= 4 else { return nil }
        let count = bytes[start..<start + 4].reduce(0) { $0 << 8 | Int($1) }
        guard count <= Self.maximumBytes else { throw FunctionProtocolError(message: "a frame of \(count) bytes") }
        guard bytes.count - start >= 4 + count else { return nil }
        defer { start += 4 + count }
        let parsed = bytes[(start + 4)..<(start + 4 + count)].withUnsafeBytes { frame in
            Result { () throws(ExtendedJSONError) in
                try ExtendedJSON.parseDocument(frame, limits: .init(maximumDepth: 220))
            }
        }
        do { return try parsed.get() } catch { throw FunctionProtocolError(message: "\(error)") }
    }
}
