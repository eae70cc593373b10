import DocumentModel
import EventLoop
import Foundation
import FoundationNetworking
import Glibc
import TestSupport

struct EventStreamError: Error, CustomStringConvertible {
    let description: String
}

/// A client of server-sent events that has nothing in common with the server: a socket, chunks, lines, and the decoding of
/// `WatchStream` in realm-js. Its blocking calls run on a thread of their own.
actor EventStreamClient {
    struct Event: Sendable, Equatable {
        /// `message` when the event has no name.
        var name: String
        var data: String

        var document: Document {
            get throws { try ExtendedJSON.parseDocument(Array(data.utf8)) }
        }
    }

    private let executor = ThreadExecutor(name: "event-stream", stackSize: 512 << 10)
    nonisolated var unownedExecutor: UnownedSerialExecutor { executor.asUnownedSerialExecutor() }
    private let descriptor: Int32
    private var received: [UInt8] = []
    /// The content of complete chunks that isn't read yet.
    private var body: [UInt8] = []
    private(set) var comments = 0
    /// The last `id` that came.
    private(set) var lastId: String?
    /// Whether the last chunk, which ends the response, has come.
    private(set) var isComplete = false

    /// - Parameter receiveBuffer: SO_RCVBUF; small, so that the buffer of a client that doesn't read is soon full.
    init(port: Int, receiveBuffer: Int32? = nil) throws {
        descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
        guard descriptor >= 0 else { throw EventStreamError(description: "socket: \(errno)") }
        if var size = receiveBuffer {
            setsockopt(descriptor, SOL_SOCKET, SO_RCVBUF, &size, socklen_t(MemoryLayout<Int32>.size))
        }
        var limit = timeval(tv_sec: Int(patience.components.seconds), tv_usec: 0)
        setsockopt(descriptor, SOL_SOCKET, SO_RCVTIMEO, &limit, socklen_t(MemoryLayout<timeval>.size))
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = UInt16(port).bigEndian
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        let status = withUnsafePointer(to: &address) { address in
            address.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
            }
        }
        guard status == 0 else { throw EventStreamError(description: "connect: \(errno)") }
    }

    deinit {
        Glibc.close(descriptor)
        executor.stop()
    }

    /// Sends a request and reads the head of the response.
    func open(_ target: String, token: String? = nil, lastId: String? = nil) throws -> (status: Int, head: String) {
        var request = "GET \(target) HTTP/1.1\r\nHost: test\r\nAccept: text/event-stream\r\n"
        if let token { request += "Authorization: Bearer \(token)\r\n" }
        if let lastId { request += "Last-Event-ID: \(lastId)\r\n" }
        request += "\r\n"
        let bytes = Array(request.utf8)
        guard Glibc.send(descriptor, bytes, bytes.count, Int32(MSG_NOSIGNAL)) == bytes.count else {
            throw EventStreamError(description: "send: \(errno)")
        }
        let end = Array("\r\n\r\n".utf8)
        while true {
            if let place = received.firstRange(of: end) {
                let head = String(decoding: received[..<place.lowerBound], as: UTF8.self)
                received.removeFirst(place.upperBound)
                return (Int(head.dropFirst(9).prefix(3)) ?? 0, head)
            }
            guard try receive() else { throw EventStreamError(description: "ended within the head") }
        }
    }

    /// The next event; `nil` at the end of the response.
    func next() throws -> Event? {
        while true {
            if let end = body.firstRange(of: [10, 10]) {
                let lines = String(decoding: body[..<end.lowerBound], as: UTF8.self).split(
                    separator: "\n", omittingEmptySubsequences: false)
                body.removeFirst(end.upperBound)
                var event = Event(name: "message", data: "")
                for line in lines {
                    if line.hasPrefix(":") { comments += 1 }
                    if line.hasPrefix("id: ") { lastId = String(line.dropFirst(4)) }
                    if line == "id:" { lastId = "" }
                    if line.hasPrefix("event: ") { event.name = String(line.dropFirst(7)) }
                    if line.hasPrefix("data: ") { event.data += line.dropFirst(6) }
                }
                guard !event.data.isEmpty else { continue }
                for (code, text) in [("%0A", "\n"), ("%0D", "\r"), ("%25", "%")] {
                    event.data = event.data.replacing(code, with: text)
                }
                return event
            }
            if try !takeChunk() { return nil }
        }
    }

    /// The next event as a document. An `error` is thrown.
    func change() throws -> Document {
        guard let event = try next() else { throw EventStreamError(description: "the stream has ended") }
        guard event.name == "message" else { throw EventStreamError(description: "\(event)") }
        return try event.document
    }

    /// The code of the error with which the stream ends, after any number of changes.
    func endCode() throws -> String? {
        while let event = try next() {
            guard event.name == "error" else { continue }
            let code = try event.document["error_code"]?.stringValue
            guard try next() == nil, isComplete else { throw EventStreamError(description: "no end after the error") }
            return code
        }
        return nil
    }

    /// Reads until there were this many comments and no event.
    func waitForComments(_ count: Int) throws {
        while comments < count {
            if let end = body.firstRange(of: [10, 10]) {
                guard body.first == UInt8(ascii: ":") else {
                    throw EventStreamError(
                        description: "an event came: \(String(decoding: body[..<end.lowerBound], as: UTF8.self))")
                }
                comments += 1
                for line in String(decoding: body[..<end.lowerBound], as: UTF8.self).split(separator: "\n")
                where line.hasPrefix("id: ") { lastId = String(line.dropFirst(4)) }
                body.removeFirst(end.upperBound)
            } else if try !takeChunk() {
                throw EventStreamError(description: "the stream has ended")
            }
        }
    }

    /// Moves a chunk's content to `body`; false at the end.
    private func takeChunk() throws -> Bool {
        while true {
            if let line = received.firstRange(of: [13, 10]),
                let count = Int(String(decoding: received[..<line.lowerBound], as: UTF8.self), radix: 16),
                received.count >= line.upperBound + count + 2
            {
                body += received[line.upperBound..<(line.upperBound + count)]
                received.removeFirst(line.upperBound + count + 2)
                if count == 0 { isComplete = true }
                return count > 0
            }
            guard try receive() else { return false }
        }
    }

    private func receive() throws -> Bool {
        var piece = [UInt8](repeating: 0, count: 64 << 10)
        let count = recv(descriptor, &piece, piece.count, 0)
        if count < 0, errno == EAGAIN { throw EventStreamError(description: "nothing came in \(patience)") }
        guard count > 0 else { return false }
        received += piece[..<count]
        return true
    }
}

extension TriggersFixture {
    /// The fixture with an app whose users' tokens are known, and what makes them by the user's id.
    static func deployed(_ app: TriggerApp) async throws -> (TriggersFixture, (String) async throws -> String) {
        let fixture = try await shared()
        try await fixture.deploy(app)
        try await eventually("the signing key is known") {
            try await fixture.call("known", app: app.id, token: try fixture.token(app)).status == 200
        }
        return (fixture, { try fixture.token(app, user: $0) })
    }

    /// Opens a stream of notes as soon as a worker knows the app and the key, and has room for it.
    func watchSoon(_ app: TriggerApp, user: String = "ann", port: Int) async throws -> EventStreamClient {
        try await eventually("the worker opens a stream") {
            do { return try await watch("Note", of: app, token: token(app, user: user), port: port) } catch {
                return nil
            }
        }
    }

    /// The target of a request to watch, as realm-web makes it.
    static func watchTarget(_ app: TriggerApp, call: String) -> String {
        var allowed = CharacterSet.alphanumerics
        allowed.insert(charactersIn: "-_.!~*'()")
        let text = Data(call.utf8).base64EncodedString().addingPercentEncoding(withAllowedCharacters: allowed) ?? ""
        return "/api/client/v2.0/app/\(app.id)/functions/call?baas_request=\(text)"
    }

    static func watchCall(_ collection: String, _ more: String = "") -> String {
        """
        {"name": "watch", "service": "mongodb-atlas",
         "arguments": [{"database": "Test", "collection": "\(collection)"\(more.isEmpty ? "" : ", " + more)}]}
        """
    }

    /// Opens a stream of changes.
    func watch(
        _ collection: String, _ more: String = "", of app: TriggerApp, token: String, port: Int? = nil,
        receiveBuffer: Int32? = nil, lastId: String? = nil
    ) async throws -> EventStreamClient {
        let client = try EventStreamClient(port: port ?? self.port, receiveBuffer: receiveBuffer)
        let (status, head) = try await client.open(
            Self.watchTarget(app, call: Self.watchCall(collection, more)), token: token, lastId: lastId)
        guard status == 200 else { throw EventStreamError(description: head) }
        return client
    }

    /// Asks for a stream and returns the refusal.
    func refusedWatch(_ target: String, token: String?) async throws -> (status: Int, code: String?) {
        guard let url = URL(string: "http://127.0.0.1:\(port)\(target)") else { throw URLError(.badURL) }
        var request = URLRequest(url: url)
        if let token { request.setValue("Bearer \(token)", forHTTPHeaderField: "Authorization") }
        let (data, response) = try await URLSession.shared.data(for: request)
        let code = try? ExtendedJSON.parse(String(decoding: data, as: UTF8.self))["error_code"]?.stringValue
        return ((response as? HTTPURLResponse)?.statusCode ?? 0, code)
    }
}
