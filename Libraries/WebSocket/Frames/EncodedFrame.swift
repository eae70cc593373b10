/// The bytes of one frame, header included.
///
/// `@unchecked Sendable`: written only in `init`, before it is shared.
final class EncodedFrame: @unchecked Sendable {
    private let storage: UnsafeMutableRawBufferPointer
    private let headerCount: Int

    /// - Parameters:
    ///   - opcode: the four bits of the opcode; the frame is final.
    ///   - isCompressed: sets RSV1.
    ///   - mask: a client's masking key; `nil` for a server's frame.
    init(opcode: UInt8, _ payload: UnsafeRawBufferPointer, isCompressed: Bool = false, mask: UInt32? = nil) {
        let length = payload.count
        headerCount = (length < 126 ? 2 : length < 65536 ? 4 : 10) + (mask == nil ? 0 : 4)
        storage = .allocate(byteCount: headerCount + length, alignment: 8)
        Self.writeHeader(to: storage, opcode: opcode, length: length, isCompressed: isCompressed, isMasked: mask != nil)
        let body = UnsafeMutableRawBufferPointer(rebasing: storage[headerCount...])
        body.copyMemory(from: payload)
        if let mask {
            storage.storeBytes(of: mask.bigEndian, toByteOffset: headerCount - 4, as: UInt32.self)
            Self.apply(mask, to: body)
        }
    }

    deinit { storage.deallocate() }

    /// The bytes to send. Valid as long as the frame exists.
    var bytes: UnsafeRawBufferPointer { UnsafeRawBufferPointer(storage) }

    /// The bytes after the header, masked if the frame is. Valid as long as the frame exists.
    var payload: UnsafeRawBufferPointer { UnsafeRawBufferPointer(rebasing: storage[headerCount...]) }

    var count: Int { storage.count }

    private static func writeHeader(
        to out: UnsafeMutableRawBufferPointer, opcode: UInt8, length: Int, isCompressed: Bool, isMasked: Bool
    ) {
        let maskBit: UInt8 = isMasked ? 0x80 : 0
        out[0] = 0x80 | (isCompressed ? 0x40 : 0) | opcode
        if length < 126 {
            out[1] = maskBit | UInt8(length)
        } else if length < 65536 {
            out[1] = maskBit | 126
            out.storeBytes(of: UInt16(length).bigEndian, toByteOffset: 2, as: UInt16.self)
        } else {
            out[1] = maskBit | 127
            out.storeBytes(of: UInt64(length).bigEndian, toByteOffset: 2, as: UInt64.self)
        }
    }

    private static func apply(_ mask: UInt32, to body: UnsafeMutableRawBufferPointer) {
        let wide = UInt64(mask.bigEndian) << 32 | UInt64(mask.bigEndian)
        var offset = 0
        while offset + 8 <= body.count {
            let word = body.loadUnaligned(fromByteOffset: offset, as: UInt64.self)
            body.storeBytes(of: word ^ wide, toByteOffset: offset, as: UInt64.self)
            offset += 8
        }
        while offset < body.count {
            body[offset] ^= UInt8(truncatingIfNeeded: mask >> (8 * (3 - UInt32(offset & 3))))
            offset += 1
        }
    }
}
