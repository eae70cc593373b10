import EventLoop
import Foundation

/// A server on a local port that handles each connection on a thread of its own with blocking calls: as simple as possible,
/// so that only the client is tested. It listens until the process ends: the optimizer may release it while its client connects.
final class LocalServer: Sendable {
    let port: Int
    private let accepted = Locked(0)

    /// How many connections were made so far.
    var connections: Int { accepted.withLock { $0 } }

    init(_ handle: @escaping @Sendable (LocalConnection) -> Void) throws {
        let listener = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = inet_addr("127.0.0.1")
        var size = socklen_t(MemoryLayout<sockaddr_in>.size)
        let isListening = withUnsafeMutablePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                bind(listener, $0, size) == 0 && listen(listener, 64) == 0 && getsockname(listener, $0, &size) == 0
            }
        }
        guard isListening else { throw POSIXError(.EADDRINUSE) }
        port = Int(UInt16(bigEndian: address.sin_port))
        Thread.detachNewThread { [accepted] in
            while true {
                let descriptor = accept(listener, nil, nil)
                if descriptor < 0 { return }
                accepted.withLock { $0 += 1 }
                Thread.detachNewThread {
                    handle(LocalConnection(descriptor: descriptor))
                    shutdown(descriptor, Int32(SHUT_RDWR))
                    close(descriptor)
                }
            }
        }
    }
}

/// One connection. Used by one thread.
final class LocalConnection {
    private let descriptor: Int32
    private var buffer: [UInt8] = []

    init(descriptor: Int32) { self.descriptor = descriptor }

    /// The next line without its end, or `nil` at the end.
    func readLine() -> String? {
        while true {
            if let end = buffer.firstIndex(of: UInt8(ascii: "\n")) {
                let line = buffer[..<end].filter { $0 != UInt8(ascii: "\r") }
                buffer.removeFirst(end + 1)
                return String(decoding: line, as: UTF8.self)
            }
            guard fill() else { return nil }
        }
    }

    func read(_ count: Int) -> [UInt8]? {
        while buffer.count < count {
            guard fill() else { return nil }
        }
        defer { buffer.removeFirst(count) }
        return Array(buffer.prefix(count))
    }

    /// Returns whether everything was sent.
    @discardableResult
    func write(_ bytes: some Sequence<UInt8>) -> Bool {
        let bytes = Array(bytes)
        var sent = 0
        while sent < bytes.count {
            let count = bytes[sent...].withUnsafeBytes {
                send(descriptor, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL))
            }
            if count <= 0 { return false }
            sent += count
        }
        return true
    }

    @discardableResult
    func write(_ text: String) -> Bool { write(text.utf8) }

    private func fill() -> Bool {
        var part = [UInt8](repeating: 0, count: 16_384)
        let count = recv(descriptor, &part, part.count, 0)
        if count <= 0 { return false }
        buffer += part.prefix(count)
        return true
    }
}

/// An HTTP request as it was received.
struct LocalRequest {
    let method: String
    let target: String
    let headers: [String: String]
    let body: [UInt8]

    init?(_ connection: LocalConnection) {
        guard let first = connection.readLine()?.split(separator: " "), first.count == 3 else { return nil }
        var headers: [String: String] = [:]
        while let line = connection.readLine(), !line.isEmpty {
            let parts = line.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
            guard parts.count == 2 else { return nil }  // a TLS handshake can look like anything
            headers[parts[0].lowercased()] = parts[1].trimmingCharacters(in: .whitespaces)
        }
        guard let body = connection.read(Int(headers["content-length"] ?? "") ?? 0) else { return nil }
        method = String(first[0])
        target = String(first[1])
        self.headers = headers
        self.body = body
    }
}
