/// A body that is produced while it is sent: large results, server-sent events.
public struct HTTPBodyStream: Sendable {
    let length: UInt64?
    let produce: @Sendable (HTTPBodyWriter) async throws -> Void

    /// - Parameters:
    ///   - length: the exact number of bytes, sent as `Content-Length`; `nil` sends chunks.
    ///   - produce: writes the body. It runs when the client is ready for it (never for HEAD), and is cancelled when the connection
    ///     is lost. An error that it throws cuts the connection, so that the client notices that the body isn't complete.
    public init(length: UInt64? = nil, _ produce: @escaping @Sendable (HTTPBodyWriter) async throws -> Void) {
        self.length = length
        self.produce = produce
    }
}

/// Writes the body of one response.
public struct HTTPBodyWriter: Sendable {
    let listener: HTTPListener
    let stream: ResponseStream

    /// Sends bytes. Returns when they are queued and less than 256 KiB wait for the client, so that a slow client slows down the
    /// producer.
    ///
    /// - Throws: ``HTTPServerError`` `connectionClosed` when the connection is lost. A client that vanished without closing the
    ///   connection is noticed only by a write, so a stream with long pauses should occasionally send some bytes (in server-sent
    ///   events, a comment line).
    public func write(_ bytes: [UInt8]) async throws { try await listener.write(bytes, to: stream) }

    /// Sends text.
    public func write(_ text: String) async throws { try await write(Array(text.utf8)) }
}
