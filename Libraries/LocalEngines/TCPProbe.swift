import Glibc

enum TCPProbe {
    /// Whether somebody accepts connections on a port of the loopback interface. Immediate there: no connect hangs.
    static func accepts(port: Int) -> Bool {
        let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
        guard descriptor >= 0 else { return false }
        defer { close(descriptor) }
        return withLoopback(port) { connect(descriptor, $0, $1) == 0 }
    }

    /// A port that nobody uses at the moment.
    static func freePort() -> Int? {
        let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
        guard descriptor >= 0 else { return nil }
        defer { close(descriptor) }
        guard withLoopback(0, { bind(descriptor, $0, $1) == 0 }) else { return nil }
        var address = sockaddr_in()
        var size = socklen_t(MemoryLayout<sockaddr_in>.size)
        let named = withUnsafeMutablePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { getsockname(descriptor, $0, &size) }
        }
        return named == 0 ? Int(UInt16(bigEndian: address.sin_port)) : nil
    }

    private static func withLoopback(_ port: Int, _ body: (UnsafePointer<sockaddr>, socklen_t) -> Bool) -> Bool {
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = UInt16(truncatingIfNeeded: port).bigEndian
        address.sin_addr.s_addr = UInt32(0x7f00_0001).bigEndian
        return withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                body($0, socklen_t(MemoryLayout<sockaddr_in>.size))
            }
        }
    }
}

/// Ports of this machine.
public enum LocalPort {
    /// A port that nobody listens on now. Somebody may take it before it is used: for tests and for defaults.
    public static func free() throws(EngineError) -> Int {
        guard let port = TCPProbe.freePort() else { throw EngineError(engine: "port", message: "no free port") }
        return port
    }

    /// Whether somebody listens on the port.
    public static func isTaken(_ port: Int) -> Bool { TCPProbe.accepts(port: port) }

    /// Somebody else who answers on the port would be taken for what is to be started there.
    /// - Parameter user: who wants to listen there.
    /// - Throws: `EngineError` that names the port.
    public static func requireFree(_ port: Int, for user: String) throws(EngineError) {
        guard isTaken(port) else { return }
        throw EngineError(
            engine: user, message: "port \(port) is in use; stop what listens there, or choose others with --port")
    }
}
