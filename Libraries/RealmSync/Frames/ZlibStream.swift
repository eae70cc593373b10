import Czlib

/// The compression of Realm messages: zlib streams (RFC 1950).
public enum ZlibStream {
    /// - Returns: `nil` if zlib has no memory for it.
    public static func deflate(_ bytes: [UInt8]) -> [UInt8]? {
        var size = compressBound(UInt(bytes.count))
        var output = [UInt8](repeating: 0, count: Int(size))
        guard compress(&output, &size, bytes, UInt(bytes.count)) == Z_OK else { return nil }
        return Array(output.prefix(Int(size)))
    }

    /// - Parameter size: That of the uncompressed bytes; no more is written.
    /// - Returns: `nil` if they aren't such a stream.
    public static func inflate(_ bytes: [UInt8], _ size: Int) -> [UInt8]? {
        var output = [UInt8](repeating: 0, count: size), count = UInt(size)
        guard uncompress(&output, &count, bytes, UInt(bytes.count)) == Z_OK else { return nil }
        return Array(output.prefix(Int(count)))
    }
}
