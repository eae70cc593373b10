import Cspawn
import Glibc

/// A page of memory that a process shares with a child, without system calls for its use. What the child writes isn't to be trusted.
public final class SharedPage: @unchecked Sendable {
    // Unchecked: the address and the descriptor don't change; how the memory is used is the caller's to say (`HostActivity`).

    public static let bytes = 4096
    /// The memory; all zero at first.
    public let memory: UnsafeMutableRawPointer
    /// For the child.
    public let descriptor: Int32

    /// - Throws: `ChildProcessError` when there is no memory or no descriptor left.
    public init(for executable: String) throws(ChildProcessError) {
        let made = cspawn_memory(Self.bytes)
        guard made >= 0 else { throw ChildProcessError(executable: executable, errno: -made) }
        guard let memory = Self.map(made) else {
            let error = errno
            close(made)
            throw ChildProcessError(executable: executable, errno: error)
        }
        descriptor = made
        self.memory = memory
    }

    deinit {
        munmap(memory, Self.bytes)
        close(descriptor)
    }

    private static func map(_ descriptor: Int32) -> UnsafeMutableRawPointer? {
        let memory = mmap(nil, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0)
        return memory == MAP_FAILED ? nil : memory
    }
}
