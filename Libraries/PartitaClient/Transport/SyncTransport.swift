/// Opens sync connections: our own WebSocket on Linux, URLSession's on Apple platforms.
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
    /// The next frame, in order; `nil` when the connection is closed. One caller at a time. The connection reads ahead a
    /// bounded amount only.
    func receive() async -> [UInt8]?
    /// Closes it. Frames that are queued may be lost.
    func close()
}
