import Czlib

/// Inflates permessage-deflate payloads, each independently. Loop only: one inflater serves all sockets of a loop.
final class Inflater {
    enum Failure: Error {
        /// The data isn't deflate data, or is truncated.
        case corrupt
        /// The message would exceed the limit.
        case tooBig
        case outOfMemory
    }

    private static let keptBytes = 256 << 10
    private let stream: UnsafeMutablePointer<z_stream>
    private var hasEnded = false
    private var output = UnsafeMutableRawBufferPointer.allocate(byteCount: 16 << 10, alignment: 16)

    init?() {
        stream = .allocate(capacity: 1)
        stream.initialize(to: z_stream())
        guard inflateInit2_(stream, -15, ZLIB_VERSION, Int32(MemoryLayout<z_stream>.size)) == Z_OK else { return nil }
    }

    deinit {
        inflateEnd(stream)
        stream.deallocate()
        output.deallocate()
    }

    /// Inflates the input and passes the result to `body`; its bytes are valid only during the call.
    func inflate(_ input: UnsafeRawBufferPointer, limit: Int, _ body: (UnsafeRawBufferPointer) -> Void) throws(Failure)
    {
        guard inflateReset(stream) == Z_OK else { throw .outOfMemory }
        defer { shrink() }
        hasEnded = false
        var count = 0
        try feed(input, limit: limit, &count)
        let tail: (UInt8, UInt8, UInt8, UInt8) = (0, 0, 0xFF, 0xFF)
        var failure: Failure?
        withUnsafeBytes(of: tail) { tail in
            do throws(Failure) { try feed(tail, limit: limit, &count) } catch { failure = error }
        }
        if let failure { throw failure }
        // zlib sets this bit right after a block; a truncated message ends inside one.
        guard hasEnded || stream.pointee.data_type & 128 != 0 else { throw .corrupt }
        body(UnsafeRawBufferPointer(rebasing: output[..<count]))
    }

    private func feed(_ input: UnsafeRawBufferPointer, limit: Int, _ count: inout Int) throws(Failure) {
        stream.pointee.next_in = UnsafeMutablePointer(mutating: input.assumingMemoryBound(to: UInt8.self).baseAddress)
        stream.pointee.avail_in = UInt32(clamping: input.count)
        while true {
            if count == output.count { grow(keeping: count, limit: limit) }
            let room = output.count - count
            stream.pointee.next_out = output.assumingMemoryBound(to: UInt8.self).baseAddress.map { $0 + count }
            stream.pointee.avail_out = UInt32(clamping: room)
            let before = stream.pointee.avail_out
            let status = Czlib.inflate(stream, Z_SYNC_FLUSH)
            count += Int(before - stream.pointee.avail_out)
            if count > limit { throw .tooBig }
            switch status {
            case Z_OK: if stream.pointee.avail_in == 0, stream.pointee.avail_out > 0 { return }
            case Z_BUF_ERROR where stream.pointee.avail_in == 0: return
            // A final block is legal (RFC 7692, section 7.2.3.4 has one) as long as nothing but the tail follows.
            case Z_STREAM_END:
                hasEnded = true
                return
            default: throw .corrupt
            }
        }
    }

    /// One byte more than the limit suffices to detect that it is exceeded.
    private func grow(keeping count: Int, limit: Int) {
        let larger = UnsafeMutableRawBufferPointer.allocate(
            byteCount: max(min(output.count * 4, limit + 1), output.count + 1), alignment: 16)
        larger.copyMemory(from: UnsafeRawBufferPointer(rebasing: output[..<count]))
        output.deallocate()
        output = larger
    }

    private func shrink() {
        guard output.count > Self.keptBytes else { return }
        output.deallocate()
        output = .allocate(byteCount: 16 << 10, alignment: 16)
    }
}
