import EventLoop
import Glibc
import WebSocket

/// Listens, and answers a client's handshake with what the test specifies.
final class ScriptedServer: Sendable {
    private let descriptor: Int32
    let port: Int
    private let thread = ScriptThread()

    /// - Parameter isEverywhere: Whether it listens at all addresses, so that it stands for several servers.
    init(isEverywhere: Bool = false) throws {
        descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = UInt32(isEverywhere ? 0 : 0x7F00_0001).bigEndian
        var size = socklen_t(MemoryLayout<sockaddr_in>.size)
        let descriptor = descriptor
        let status = withUnsafeMutablePointer(to: &address) { address in
            address.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
                bind(descriptor, address, size) | listen(descriptor, 16) | getsockname(descriptor, address, &size)
            }
        }
        guard status == 0 else { throw RawClientError(description: "listen: \(errno)") }
        port = Int(UInt16(bigEndian: address.sin_port))
    }

    func close() {
        shutdown(descriptor, Int32(SHUT_RDWR))
        Glibc.close(descriptor)
    }

    /// Accepts one client and answers its head; the connection ends when the client ends it, or at once if the answer is empty.
    func answer(_ make: @escaping @Sendable (_ accept: String) -> [UInt8]) async throws {
        try await thread.serve(descriptor, make)
    }
}

private actor ScriptThread {
    private let executor = ThreadExecutor(name: "script", stackSize: 512 << 10)
    nonisolated var unownedExecutor: UnownedSerialExecutor { executor.asUnownedSerialExecutor() }

    deinit { executor.stop() }

    func serve(_ listener: Int32, _ make: (String) -> [UInt8]) throws {
        let client = accept(listener, nil, nil)
        guard client >= 0 else { throw RawClientError(description: "accept: \(errno)") }
        defer { close(client) }
        var limit = timeval(tv_sec: 5, tv_usec: 0)
        setsockopt(client, SOL_SOCKET, SO_RCVTIMEO, &limit, socklen_t(MemoryLayout<timeval>.size))
        var head = ""
        var piece = [UInt8](repeating: 0, count: 4096)
        while !head.contains("\r\n\r\n") {
            let count = recv(client, &piece, piece.count, 0)
            guard count > 0 else { throw RawClientError(description: "no request") }
            head += String(decoding: piece[..<count], as: UTF8.self)
        }
        let key = head.split(separator: "\r\n").first { $0.lowercased().hasPrefix("sec-websocket-key: ") }?.dropFirst(
            19)
        let answer = make(WebSocketHandshake.accept(for: String(key ?? "")))
        if answer.isEmpty { return }
        _ = Glibc.send(client, answer, answer.count, Int32(MSG_NOSIGNAL))
        while recv(client, &piece, piece.count, 0) > 0 {}
    }
}
