/// Opens sync connections: with this package's WebSocket on Linux, with URLSession's on Apple platforms.
public protocol SyncTransport: Sendable {
    /// Opens a WebSocket.
    ///
    /// - Throws: When it can't be opened.
    func connect(_ url: String, subprotocol: String) async throws -> any SyncConnection
}

/// An open WebSocket of text frames.
public protocol SyncConnection: Sendable {
    /// Queues a frame. Frames are sent in the order of the calls; on a closed connection nothing happens.
    func send(_ text: [UInt8])
    /// The next frame, in order; `nil` when the connection is closed. Only one caller may wait at a time. The connection reads
    /// ahead only a bounded amount.
    func receive() async -> [UInt8]?
    /// Closes the connection. Queued frames may be lost.
    func close()
}
