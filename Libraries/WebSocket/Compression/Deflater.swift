import Czlib
import EventLoop

/// Makes permessage-deflate payloads (RFC 7692, section 7.2.1): raw deflate, sync flushed, without the last four bytes. No state is
/// kept between messages, so all receivers can share a payload.
///
/// `@unchecked Sendable`: only one caller uses it at a time, see ``withShared(_:)``.
final class Deflater: @unchecked Sendable {
    private static let idle = Locked<[Deflater]>([])
    private let stream: UnsafeMutablePointer<z_stream>
    private var output: UnsafeMutableRawBufferPointer

    private init?() {
        stream = .allocate(capacity: 1)
        stream.initialize(to: z_stream())
        output = .allocate(byteCount: 16 << 10, alignment: 16)
        // Level 1: on small JSON the higher levels cost several times as much for a few percent.
        let status = deflateInit2_(
            stream, 1, Z_DEFLATED, -15, 8, Z_DEFAULT_STRATEGY, ZLIB_VERSION, Int32(MemoryLayout<z_stream>.size))
        guard status == Z_OK else { return nil }
    }

    deinit {
        deflateEnd(stream)
        stream.deallocate()
        output.deallocate()
    }

    /// Lends a deflater to `body`; `nil` when zlib can't allocate memory, in which case the message is sent uncompressed.
    static func withShared<R>(_ body: (Deflater) -> R?) -> R? {
        guard let deflater = idle.withLock({ $0.popLast() }) ?? Deflater() else { return nil }
        defer { idle.withLock { if $0.count < 4 { $0.append(deflater) } } }
        return body(deflater)
    }

    /// Deflates the input and passes the result to `body`; its bytes are valid only during the call.
    func deflate<R>(_ input: UnsafeRawBufferPointer, _ body: (UnsafeRawBufferPointer) -> R) -> R? {
        guard input.count < Int(UInt32.max) / 2 else { return nil }
        deflateReset(stream)
        let bound = Int(deflateBound(stream, UInt(input.count))) + 16
        if output.count < bound {
            output.deallocate()
            output = .allocate(byteCount: bound, alignment: 16)
        }
        defer { shrink() }
        stream.pointee.next_in = UnsafeMutablePointer(mutating: input.assumingMemoryBound(to: UInt8.self).baseAddress)
        stream.pointee.avail_in = UInt32(input.count)
        stream.pointee.next_out = output.assumingMemoryBound(to: UInt8.self).baseAddress
        stream.pointee.avail_out = UInt32(output.count)
        guard Czlib.deflate(stream, Z_SYNC_FLUSH) == Z_OK, stream.pointee.avail_in == 0 else { return nil }
        let count = output.count - Int(stream.pointee.avail_out)
        // A sync flush ends with 00 00 ff ff, which is omitted and which the receiver adds again.
        guard stream.pointee.avail_out > 0, count >= 4 else { return nil }
        return body(UnsafeRawBufferPointer(rebasing: output[..<(count - 4)]))
    }

    private func shrink() {
        guard output.count > 1 << 20 else { return }
        output.deallocate()
        output = .allocate(byteCount: 16 << 10, alignment: 16)
    }
}
