import Glibc

/// A port at which connections are neither accepted nor refused, as at an address that nothing answers: the queue of its listening socket is
/// full.
final class SilentPort: Sendable {
    let port: Int
    private let descriptors: [Int32]

    init() throws {
        let type = Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue) | Int32(SOCK_NONBLOCK.rawValue)
        let sockets = (0..<5).map { _ in socket(AF_INET, type, 0) }
        descriptors = sockets
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        var size = socklen_t(MemoryLayout<sockaddr_in>.size)
        let status = withUnsafeMutablePointer(to: &address) { address in
            address.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
                let status =
                    bind(sockets[0], address, size) | listen(sockets[0], 0) | getsockname(sockets[0], address, &size)
                // The first of them fills the queue; the others are there in case that a kernel's queue is longer.
                for client in sockets.dropFirst() { connect(client, address, size) }
                return status
            }
        }
        port = Int(UInt16(bigEndian: address.sin_port))
        guard status == 0 else {
            close()
            throw RawClientError(description: "listen: \(errno)")
        }
    }

    func close() {
        for descriptor in descriptors { Glibc.close(descriptor) }
    }
}
