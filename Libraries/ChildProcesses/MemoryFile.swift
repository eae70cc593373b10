import Cspawn
import Glibc

/// A file in memory, for what a child reads or writes: no directory has it, and it is gone when nobody has it open, however its
/// processes end.
public final class MemoryFile: Sendable {
    /// For the child. It is closed with the file's last reference, which has to be kept until the child is started.
    public let descriptor: Int32
    private let executable: String

    /// - Throws: `ChildProcessError` when there is no memory or no descriptor left.
    public init(_ contents: [UInt8] = [], for executable: String) throws(ChildProcessError) {
        let made = cspawn_file()
        guard made >= 0 else { throw ChildProcessError(executable: executable, errno: -made) }
        descriptor = made
        self.executable = executable
        var offset = 0
        while offset < contents.count {
            let written = contents[offset...].withUnsafeBytes { pwrite(made, $0.baseAddress, $0.count, off_t(offset)) }
            // `deinit` closes the descriptor.
            guard written > 0 else { throw ChildProcessError(executable: executable, errno: errno) }
            offset += written
        }
    }

    deinit { close(descriptor) }

    /// What it has now.
    /// - Throws: `ChildProcessError` when it can't be read.
    public func contents() throws(ChildProcessError) -> [UInt8] {
        var state = stat()
        guard fstat(descriptor, &state) == 0 else { throw ChildProcessError(executable: executable, errno: errno) }
        var bytes = [UInt8](repeating: 0, count: Int(state.st_size))
        var offset = 0
        while offset < bytes.count {
            let count = bytes[offset...].withUnsafeMutableBytes {
                pread(descriptor, $0.baseAddress, $0.count, off_t(offset))
            }
            guard count >= 0 else { throw ChildProcessError(executable: executable, errno: errno) }
            if count == 0 { return Array(bytes[..<offset]) }
            offset += count
        }
        return bytes
    }
}
