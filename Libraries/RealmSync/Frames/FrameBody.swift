/// The body of a message that may be compressed, with zlib (RFC 1950).
public struct FrameBody: Hashable, Sendable {
    /// Bodies up to this size, in bytes, aren't compressed.
    public static let uncompressedBytes = 1024

    /// The bytes of the message.
    public let bytes: [UInt8]
    /// Their number when uncompressed.
    public let size: Int
    /// Whether they are compressed.
    public let isCompressed: Bool

    /// A body that was received.
    init(bytes: [UInt8], size: Int, isCompressed: Bool) {
        self.bytes = bytes
        self.size = size
        self.isCompressed = isCompressed
    }

    /// A body that is sent: compressed if it is long and becomes shorter.
    /// - Parameter deflate: Compresses to a zlib stream; nil if that isn't possible.
    init(_ content: [UInt8], deflate: (_ bytes: [UInt8]) -> [UInt8]?) {
        size = content.count
        if content.count > Self.uncompressedBytes, let compressed = deflate(content), compressed.count < content.count {
            bytes = compressed
            isCompressed = true
        } else {
            bytes = content
            isCompressed = false
        }
    }

    /// The uncompressed bytes.
    func content(inflate: (_ bytes: [UInt8], _ size: Int) -> [UInt8]?) throws(FrameError) -> [UInt8] {
        guard isCompressed else { return bytes }
        guard let content = inflate(bytes, size), content.count == size else {
            throw FrameError(.badDecompression, at: 0, "the body isn't a zlib stream of the size that the message says")
        }
        return content
    }
}
