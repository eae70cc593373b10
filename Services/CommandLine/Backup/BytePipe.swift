import EventLoop
import Glibc

/// A pipe between this process and a child, or between two children. Children get an end as a descriptor (`ChildProcess.spawn`); this
/// process then closes its own, so that the other side notices when the child has ended.
final class BytePipe: Sendable {
    let reading: Int32
    let writing: Int32
    private let open = Locked((reading: true, writing: true))

    /// - Throws: `ToolError` when there are no descriptors left.
    init() throws {
        var ends: [Int32] = [-1, -1]
        guard pipe(&ends) == 0 else { throw ToolError("can't make a pipe: \(String(cString: strerror(errno)))") }
        reading = ends[0]
        writing = ends[1]
        // Programs that are started in another way than by `ChildProcess` don't get them.
        for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
    }

    deinit {
        closeReading()
        closeWriting()
    }

    func closeReading() {
        open.withLock { open in
            if open.reading { close(reading) }
            open.reading = false
        }
    }

    func closeWriting() {
        open.withLock { open in
            if open.writing { close(writing) }
            open.writing = false
        }
    }

    /// Writes all bytes. Blocks while the pipe is full.
    /// - Returns: whether the reader took them; otherwise it has ended.
    func write(_ bytes: UnsafeRawBufferPointer) -> Bool {
        var rest = bytes[...]
        while !rest.isEmpty {
            let count = Glibc.write(writing, UnsafeRawBufferPointer(rebasing: rest).baseAddress, rest.count)
            if count > 0 {
                rest = rest.dropFirst(count)
            } else if count == 0 || errno != EINTR {
                return false
            }
        }
        return true
    }

    func write(_ text: String) -> Bool { Array(text.utf8).withUnsafeBytes { write($0) } }

    /// Reads what is there, into a buffer. Blocks until there is something.
    /// - Returns: the number of bytes; 0 when all writers have ended, `nil` when it failed.
    func read(into buffer: UnsafeMutableRawBufferPointer) -> Int? {
        while true {
            let count = Glibc.read(reading, buffer.baseAddress, buffer.count)
            if count >= 0 { return count }
            guard errno == EINTR else { return nil }
        }
    }
}
