import EventLoop
import Glibc

/// Collects what a host writes to its standard output and standard error: why it couldn't start, or the output of a crash. Use only
/// on its loop. Must be closed.
///
/// The host gets a channel of its own, so that it has no descriptor of its parent, such as the log. Output beyond `limit` bytes is
/// read and dropped.
final class HostOutput {
    private static let limit = 4096
    private let descriptor: Int32
    private var watcher: FDWatcher?
    private var bytes: [UInt8] = []

    /// Makes the two ends; the caller closes the writing one once the host has it.
    static func pipe() -> (reading: Int32, writing: Int32)? {
        var ends: [Int32] = [0, 0]
        // A socket gets its close-on-exec flag when it is made, so that children that are started at the same time don't inherit
        // it; with a pipe the flag would have to be set afterwards.
        let kind = Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue)
        return socketpair(AF_UNIX, kind, 0, &ends) == 0 ? (ends[0], ends[1]) : nil
    }

    /// - Parameter descriptor: the reading end. `close` closes it.
    init(_ descriptor: Int32, on loop: EventLoop) throws {
        self.descriptor = descriptor
        watcher = try FDWatcher(loop, fd: descriptor) { [unowned self] _ in read() }
        watcher?.set(.read)
    }

    /// Stops reading.
    /// - Returns: the collected output, in one line.
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
                    // After the end of file the descriptor would be reported as readable again and again.
                    if count == 0 { watcher?.set([]) }
                    return
                }
                bytes += buffer.prefix(min(count, Self.limit - bytes.count))
            }
        }
    }
}
