import EventLoop
import Glibc

/// What a host writes to its standard output and standard error: why it couldn't start, or a crash's last words. Loop only. Must be closed.
///
/// By a channel of its own, so that a host has no descriptor of its parent's, as the log would be one. Beyond `limit` bytes it is read and dropped.
final class HostOutput {
    private static let limit = 4096
    private let descriptor: Int32
    private var watcher: FDWatcher?
    private var bytes: [UInt8] = []

    /// The ends; the caller closes the writing one when the host has it.
    static func pipe() -> (reading: Int32, writing: Int32)? {
        var ends: [Int32] = [0, 0]
        // A socket is closed to other children that are started at this moment; a pipe's flag would have to be set afterwards.
        let kind = Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue)
        return socketpair(AF_UNIX, kind, 0, &ends) == 0 ? (ends[0], ends[1]) : nil
    }

    /// - Parameter descriptor: the reading end, which this closes.
    init(_ descriptor: Int32, on loop: EventLoop) throws {
        self.descriptor = descriptor
        watcher = try FDWatcher(loop, fd: descriptor) { [unowned self] _ in read() }
        watcher?.set(.read)
    }

    /// Ends the reading.
    /// - Returns: what there was, in one line.
    func close() -> String {
        guard watcher != nil else { return "" }
        read()
        watcher?.close()
        watcher = nil
        Glibc.close(descriptor)
        return String(decoding: bytes, as: UTF8.self).split(whereSeparator: \.isNewline).joined(separator: " ")
    }

    private func read() {
        withUnsafeTemporaryAllocation(byteCount: 4096, alignment: 8) { buffer in
            while true {
                let count = Glibc.read(descriptor, buffer.baseAddress, buffer.count)
                if count < 0, errno == EINTR { continue }
                guard count > 0 else {
                    // At the end nothing comes any more, and it would be told again and again.
                    if count == 0 { watcher?.set([]) }
                    return
                }
                bytes += buffer.prefix(min(count, Self.limit - bytes.count))
            }
        }
    }
}
