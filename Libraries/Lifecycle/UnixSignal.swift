import Glibc

/// A signal of the operating system that a process may handle.
public struct UnixSignal: Hashable, Sendable, CustomStringConvertible {
    /// The signal's number.
    public let rawValue: Int32
    /// The signal's name.
    public let description: String

    /// Ctrl-C.
    public static let sigint = UnixSignal(rawValue: SIGINT, description: "SIGINT")
    /// A request to end the process.
    public static let sigterm = UnixSignal(rawValue: SIGTERM, description: "SIGTERM")
    /// Free for the application.
    public static let sigusr2 = UnixSignal(rawValue: SIGUSR2, description: "SIGUSR2")
}
