import Czlib

/// zlib on a whole message.
enum Compression {
    /// The largest result in bytes, so that a small message can't exhaust the memory.
    private static let maximumBytes = 64 << 20

    /// - Parameters:
    ///   - windowBits: as zlib's `deflateInit2` takes them: 15 for its own format, 31 for gzip's, -15 for none.
    ///   - level: -1 to 9.
    static func deflate(_ bytes: [UInt8], windowBits: Int, level: Int) throws(HostCrypto.Failure) -> [UInt8] {
        guard (-1...9).contains(level), [15, 31, -15].contains(windowBits) else {
            throw HostCrypto.Failure("the compression's level is out of range")
        }
        let stream = makeStream()
        defer { stream.deallocate() }
        guard
            deflateInit2_(
                stream, Int32(level), Z_DEFLATED, Int32(windowBits), 8, Z_DEFAULT_STRATEGY, ZLIB_VERSION,
                Int32(MemoryLayout<z_stream>.size)) == Z_OK
        else { throw HostCrypto.Failure("compression failed") }
        defer { deflateEnd(stream) }
        return try run(stream, bytes) { Czlib.deflate(stream, Z_FINISH) }
    }

    /// - Parameter windowBits: as zlib's `inflateInit2` takes them; 47 recognizes both formats.
    static func inflate(_ bytes: [UInt8], windowBits: Int) throws(HostCrypto.Failure) -> [UInt8] {
        guard [15, 31, -15, 47].contains(windowBits) else { throw HostCrypto.Failure("unknown compression") }
        let stream = makeStream()
        defer { stream.deallocate() }
        guard
            inflateInit2_(stream, Int32(windowBits), ZLIB_VERSION, Int32(MemoryLayout<z_stream>.size)) == Z_OK
        else { throw HostCrypto.Failure("decompression failed") }
        defer { inflateEnd(stream) }
        return try run(stream, bytes) { Czlib.inflate(stream, Z_NO_FLUSH) }
    }

    /// zlib keeps the stream's address, so it must not move.
    private static func makeStream() -> UnsafeMutablePointer<z_stream> {
        let stream = UnsafeMutablePointer<z_stream>.allocate(capacity: 1)
        stream.initialize(to: z_stream())
        return stream
    }

    private static func run(
        _ stream: UnsafeMutablePointer<z_stream>, _ bytes: [UInt8], _ step: () -> Int32
    ) throws(HostCrypto.Failure) -> [UInt8] {
        var input = bytes
        var output: [UInt8] = []
        var part = [UInt8](repeating: 0, count: 64 << 10)
        let status = input.withUnsafeMutableBufferPointer { input -> Int32 in
            stream.pointee.next_in = input.baseAddress
            stream.pointee.avail_in = UInt32(input.count)
            while true {
                let (status, count) = part.withUnsafeMutableBufferPointer { part -> (Int32, Int) in
                    stream.pointee.next_out = part.baseAddress
                    stream.pointee.avail_out = UInt32(part.count)
                    let status = step()
                    return (status, part.count - Int(stream.pointee.avail_out))
                }
                output += part.prefix(count)
                guard status == Z_OK, count > 0 || stream.pointee.avail_in > 0, output.count <= maximumBytes else {
                    return status
                }
            }
        }
        guard output.count <= maximumBytes else {
            throw HostCrypto.Failure("the result has more than \(maximumBytes) bytes")
        }
        guard status == Z_STREAM_END else {
            throw HostCrypto.Failure(status == Z_DATA_ERROR ? "incorrect header check" : "unexpected end of file")
        }
        return output
    }
}
