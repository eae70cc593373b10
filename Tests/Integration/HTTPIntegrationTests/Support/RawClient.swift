import EventLoop
import Glibc

/// What a test read from a server.
struct RawResponse: Sendable, Equatable {
    var status: Int
    var headers: [String: String]
    var body: [UInt8]

    var text: String { String(decoding: body, as: UTF8.self) }
}

struct RawClientError: Error, CustomStringConvertible {
    let description: String
}

/// A TCP client that sends exactly the bytes it is given. Its blocking calls run on a thread of their own, with the tests'
/// `patience` as timeout.
actor RawClient {
    private let executor = ThreadExecutor(name: "raw-client", stackSize: 512 << 10)
    nonisolated var unownedExecutor: UnownedSerialExecutor { executor.asUnownedSerialExecutor() }
    private let descriptor: Int32
    private var buffer: [UInt8] = []
    private var isOpen = true

    /// - Parameter receiveBuffer: SO_RCVBUF; small, so that the buffer of a client that doesn't read is soon full.
    init(port: Int, receiveBuffer: Int32? = nil) throws {
        descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
        guard descriptor >= 0 else { throw RawClientError(description: "socket: \(errno)") }
        if var size = receiveBuffer {
            setsockopt(descriptor, SOL_SOCKET, SO_RCVBUF, &size, socklen_t(MemoryLayout<Int32>.size))
        }
        var limit = timeval(tv_sec: Int(patience.components.seconds), tv_usec: 0)
        setsockopt(descriptor, SOL_SOCKET, SO_RCVTIMEO, &limit, socklen_t(MemoryLayout<timeval>.size))
        setsockopt(descriptor, SOL_SOCKET, SO_SNDTIMEO, &limit, socklen_t(MemoryLayout<timeval>.size))
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = UInt16(port).bigEndian
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        let status = withUnsafePointer(to: &address) { address in
            address.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
            }
        }
        // deinit closes the descriptor, also after a throw.
        guard status == 0 else { throw RawClientError(description: "connect: \(errno)") }
    }

    deinit {
        if isOpen { Glibc.close(descriptor) }
        executor.stop()
    }

    func close() {
        if isOpen { Glibc.close(descriptor) }
        isOpen = false
    }

    func send(_ text: String) throws { try send(Array(text.utf8)) }

    func send(_ bytes: [UInt8]) throws {
        var rest = bytes[...]
        while !rest.isEmpty {
            let count = rest.withUnsafeBytes { Glibc.send(descriptor, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL)) }
            guard count > 0 else { throw RawClientError(description: "send: \(errno)") }
            rest = rest.dropFirst(count)
        }
    }

    /// Ends the sending; answers can still be read.
    func endSending() { shutdown(descriptor, Int32(SHUT_WR)) }

    /// Reads some more; false at the peer's end or a reset.
    @discardableResult
    func receive() throws -> Bool {
        var piece = [UInt8](repeating: 0, count: 64 << 10)
        let count = recv(descriptor, &piece, piece.count, 0)
        if count < 0, errno == EAGAIN { throw RawClientError(description: "nothing came in \(patience)") }
        guard count > 0 else { return false }
        buffer.append(contentsOf: piece[..<count])
        return true
    }

    /// Reads exactly this many bytes.
    func take(_ count: Int) throws -> [UInt8] {
        while buffer.count < count {
            guard try receive() else {
                throw RawClientError(description: "ended after \(buffer.count) of \(count) bytes")
            }
        }
        defer { buffer.removeFirst(count) }
        return Array(buffer[..<count])
    }

    /// Everything up to the peer's end.
    func takeAll() throws -> [UInt8] {
        while try receive() {}
        defer { buffer = [] }
        return buffer
    }

    /// Whether the peer closes without sending anything.
    func sawEnd() throws -> Bool { try takeAll().isEmpty }

    /// Sends and reads one response.
    func exchange(_ text: String, isHead: Bool = false) throws -> RawResponse {
        try send(text)
        return try response(isHead: isHead)
    }

    func response(isHead: Bool = false) throws -> RawResponse {
        let head = String(decoding: try take(through: [13, 10, 13, 10]), as: UTF8.self)
        let lines = head.split(separator: "\r\n")
        guard let first = lines.first, first.hasPrefix("HTTP/1.1 "), let status = Int(first.dropFirst(9).prefix(3))
        else {
            throw RawClientError(description: "no status line: \(head)")
        }
        var headers: [String: String] = [:]
        for line in lines.dropFirst() {
            let parts = line.split(separator: ":", maxSplits: 1)
            let value = parts.count > 1 ? String(parts[1].drop { $0 == " " }) : ""
            headers[parts[0].lowercased(), default: ""] += headers[parts[0].lowercased()] == nil ? value : ", " + value
        }
        if status == 100 { return try response(isHead: isHead) }
        return RawResponse(status: status, headers: headers, body: try body(status, headers, isHead))
    }

    private func body(_ status: Int, _ headers: [String: String], _ isHead: Bool) throws -> [UInt8] {
        if isHead || status == 101 || status == 204 || status == 304 { return [] }
        if headers["transfer-encoding"] == "chunked" {
            var body: [UInt8] = []
            while true {
                let line = String(decoding: try take(through: [13, 10]).dropLast(2), as: UTF8.self)
                guard let count = Int(line, radix: 16) else { throw RawClientError(description: "chunk size \(line)") }
                body += try take(count + 2).dropLast(2)
                if count == 0 { return body }
            }
        }
        if let length = headers["content-length"].flatMap({ Int($0) }) { return try take(length) }
        return try takeAll()
    }

    private func take(through end: [UInt8]) throws -> [UInt8] {
        var searched = 0
        while true {
            while searched + end.count <= buffer.count {
                if buffer[searched..<(searched + end.count)].elementsEqual(end) {
                    return try take(searched + end.count)
                }
                searched += 1
            }
            guard try receive() else {
                throw RawClientError(description: "ended within \(String(decoding: buffer, as: UTF8.self))")
            }
        }
    }
}

/// One request on a connection of its own.
func request(_ port: Int, _ line: String, headers: [String] = [], body: String = "") async throws -> RawResponse {
    let client = try RawClient(port: port)
    var head = [line + " HTTP/1.1", "Host: test"] + headers
    if !body.isEmpty { head.append("Content-Length: \(body.utf8.count)") }
    return try await client.exchange(
        head.joined(separator: "\r\n") + "\r\n\r\n" + body, isHead: line.hasPrefix("HEAD "))
}
