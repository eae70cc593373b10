import Glibc

/// A program could not be started.
public struct ChildProcessError: Error, Sendable, CustomStringConvertible {
    public let executable: String
    public let errno: Int32

    public init(executable: String, errno: Int32) {
        self.executable = executable
        self.errno = errno
    }

    public var description: String {
        "can't start \(executable): \(String(cString: strerror(errno)))"
    }
}
