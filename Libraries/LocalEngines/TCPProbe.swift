import Glibc

enum TCPProbe {
    /// Whether a server accepts connections on a port of the loopback interface, where a connect never hangs.
    static func accepts(port: Int) -> Bool {
        let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
        guard descriptor >= 0 else { return false }
        defer { close(descriptor) }
        return Loopback.withAddress(port) { connect(descriptor, $0, $1) == 0 }
    }

    /// Whether a listener could bind a port of the loopback interface now.
    static func canBind(port: Int) -> Bool {
        let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
        guard descriptor >= 0 else { return false }
        defer { close(descriptor) }
        return Loopback.withAddress(port) { bind(descriptor, $0, $1) == 0 }
    }
}
