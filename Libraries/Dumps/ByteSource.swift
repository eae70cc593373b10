import Czlib
import Glibc

/// The bytes of a file, inflated if it is compressed. Reads block; only one thread may use it at a time.
final class ByteSource {
    private static let chunk = 1 << 18

    let path: String
    private let descriptor: Int32
    private let inflater: GzipInflater?
    private var input: [UInt8] = []
    /// The number of bytes of the file that were read.
    private(set) var bytesRead: Int64 = 0

    init(path: String) throws(DumpError) {
        self.path = path
        descriptor = try Self.open(path)
        inflater = path.hasSuffix(".gz") ? GzipInflater() : nil
        posix_fadvise(descriptor, 0, 0, Int32(POSIX_FADV_SEQUENTIAL))
    }

    deinit { close(descriptor) }

    /// A descriptor of a regular file: a pipe that nobody writes into would keep the import waiting.
    static func open(_ path: String) throws(DumpError) -> Int32 {
        let descriptor = Glibc.open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
        guard descriptor >= 0 else { throw DumpError.system(.badFile, "can't open", path) }
        var status = stat()
        guard fstat(descriptor, &status) == 0, status.st_mode & S_IFMT == S_IFREG else {
            close(descriptor)
            throw DumpError(.badFile, "\(path) is no regular file (a pipe, socket, device or folder): remove it")
        }
        return descriptor
    }

    /// Appends some bytes; none at the end of the file.
    func read(into output: inout [UInt8]) throws(DumpError) {
        guard let inflater else { return try readFile(into: &output) }
        let before = output.count
        while output.count == before {
            if input.isEmpty {
                try readFile(into: &input)
                if input.isEmpty {
                    guard inflater.isAtEnd else { throw DumpError(.badFile, "\(path) ends inside compressed data") }
                    return
                }
            }
            guard inflater.inflate(&input, into: &output, atMost: Self.chunk * 4) else {
                throw DumpError(.badFile, "\(path) is not a gzip file, or is damaged")
            }
        }
    }

    private func readFile(into output: inout [UInt8]) throws(DumpError) {
        let before = output.count
        output.append(contentsOf: repeatElement(0, count: Self.chunk))
        let count = output.withUnsafeMutableBytes { bytes -> Int in
            guard let base = bytes.baseAddress else { return 0 }
            while true {
                let count = Glibc.read(descriptor, base + before, Self.chunk)
                if count >= 0 || errno != EINTR { return count }
            }
        }
        output.removeLast(output.count - before - max(count, 0))
        guard count >= 0 else { throw DumpError.system(.badFile, "can't read", path) }
        bytesRead += Int64(count)
    }

    /// Continues at an offset of the (inflated) bytes. Must be called before `read`.
    func skip(to offset: Int64) throws(DumpError) {
        if inflater == nil {
            guard lseek(descriptor, Int(offset), SEEK_SET) == Int(offset) else {
                throw DumpError.system(.badFile, "can't seek in", path)
            }
            bytesRead = offset
            return
        }
        var rest = offset
        var inflated: [UInt8] = []
        while rest > 0 {
            inflated.removeAll(keepingCapacity: true)
            try read(into: &inflated)
            if inflated.isEmpty { throw DumpError(.badFile, "\(path) is shorter than it was") }
            rest -= Int64(inflated.count)
        }
        if rest < 0 { leftover = Array(inflated.suffix(Int(-rest))) }
    }

    /// The bytes that `skip` inflated beyond its offset.
    private(set) var leftover: [UInt8] = []

    /// The complete contents of a small file.
    static func contents(of path: String, atMost limit: Int = 64 << 20) throws(DumpError) -> [UInt8] {
        let source = try ByteSource(path: path)
        var bytes: [UInt8] = []
        while true {
            let before = bytes.count
            try source.read(into: &bytes)
            if bytes.count == before { return bytes }
            if bytes.count > limit { throw DumpError(.badFile, "\(path) is larger than \(limit) bytes") }
        }
    }
}

/// Inflates gzip members with zlib.
private final class GzipInflater {
    private let stream = UnsafeMutablePointer<z_stream>.allocate(capacity: 1)
    /// Whether the last member has ended.
    private(set) var isAtEnd = true

    init() {
        stream.initialize(to: z_stream())
        // 15 bits of window, 16 for the format of gzip. It fails only if memory can't be allocated; then the first inflate fails,
        // too.
        _ = inflateInit2_(stream, 15 + 16, ZLIB_VERSION, Int32(MemoryLayout<z_stream>.size))
    }

    deinit {
        inflateEnd(stream)
        stream.deallocate()
    }

    /// Inflates input, removes the consumed bytes from it, and appends to the output.
    /// - Returns: `false` if the input isn't gzip data.
    func inflate(_ input: inout [UInt8], into output: inout [UInt8], atMost limit: Int) -> Bool {
        let before = output.count
        output.append(contentsOf: repeatElement(0, count: limit))
        var used = 0
        let status = input.withUnsafeMutableBufferPointer { bytes -> Int32 in
            output.withUnsafeMutableBufferPointer { space -> Int32 in
                guard let target = space.baseAddress else { return Z_BUF_ERROR }
                stream.pointee.next_in = bytes.baseAddress
                stream.pointee.avail_in = UInt32(bytes.count)
                stream.pointee.next_out = target + before
                stream.pointee.avail_out = UInt32(limit)
                defer { used = bytes.count - Int(stream.pointee.avail_in) }
                return Czlib.inflate(stream, Z_NO_FLUSH)
            }
        }
        output.removeLast(Int(stream.pointee.avail_out))
        input.removeFirst(used)
        isAtEnd = status == Z_STREAM_END
        if isAtEnd { return inflateReset(stream) == Z_OK }
        return status == Z_OK || status == Z_BUF_ERROR
    }
}
