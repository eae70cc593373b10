import Czlib

/// Compression of single files with gzip (RFC 1952).
public enum Gzip {
    /// The bytes compressed at the usual level; `nil` when they can't be, for want of memory. The same bytes give the same result.
    public static func compress(_ bytes: [UInt8]) -> [UInt8]? {
        let stream = UnsafeMutablePointer<z_stream>.allocate(capacity: 1)  // zlib keeps its address
        stream.initialize(to: z_stream())
        defer { stream.deallocate() }
        // 31: gzip's format, with the largest window.
        guard
            deflateInit2_(
                stream, Z_DEFAULT_COMPRESSION, Z_DEFLATED, 31, 8, Z_DEFAULT_STRATEGY, ZLIB_VERSION,
                Int32(MemoryLayout<z_stream>.size)) == Z_OK
        else { return nil }
        defer { deflateEnd(stream) }
        let capacity = Int(deflateBound(stream, UInt(bytes.count)))
        var isComplete = false
        // zlib doesn't write to its input, but its type isn't const.
        var input = bytes
        let output = [UInt8](unsafeUninitializedCapacity: capacity) { output, count in
            input.withUnsafeMutableBufferPointer { input in
                stream.pointee.next_in = input.baseAddress
                stream.pointee.avail_in = UInt32(input.count)
                stream.pointee.next_out = output.baseAddress
                stream.pointee.avail_out = UInt32(output.count)
                isComplete = deflate(stream, Z_FINISH) == Z_STREAM_END
            }
            count = capacity - Int(stream.pointee.avail_out)
        }
        return isComplete ? output : nil
    }
}
