import DocumentModel
import EventLoop
import PartitaClient
import SyncProtocol

/// A device's connections, which record what arrives on them, and can lose acknowledgements.
final class WatchedTransport: SyncTransport {
    private struct State {
        var frames: [GatewayFrame] = []
        var acksToLose = 0
        var lostAcks = 0
    }

    private let transport: LoopSyncTransport
    private let state = Locked(State())

    init(loop: EventLoop) { transport = LoopSyncTransport(loop: loop) }

    func connect(_ url: String, subprotocol: String) async throws -> any SyncConnection {
        WatchedConnection(try await transport.connect(url, subprotocol: subprotocol), self)
    }

    /// What the device got, from the first connection on.
    var frames: [GatewayFrame] { state.withLock { $0.frames } }

    /// Loses the next acknowledgements; each loss ends its connection, as in real life.
    func loseAcknowledgements(_ count: Int) { state.withLock { $0.acksToLose = count } }

    /// How many were lost.
    var lostAcknowledgements: Int { state.withLock { $0.lostAcks } }

    /// - Returns: whether the frame arrives.
    fileprivate func passes(_ bytes: [UInt8]) -> Bool {
        guard let frame = try? GatewayFrame(bytes) else { return true }  // the device under test judges it
        return state.withLock { state in
            if case .ack = frame, state.acksToLose > 0 {
                state.acksToLose -= 1
                state.lostAcks += 1
                return false
            }
            state.frames.append(frame)
            return true
        }
    }
}

private struct WatchedConnection: SyncConnection {
    let connection: any SyncConnection
    let transport: WatchedTransport

    init(_ connection: any SyncConnection, _ transport: WatchedTransport) {
        self.connection = connection
        self.transport = transport
    }

    func send(_ text: [UInt8]) { connection.send(text) }

    func receive() async -> [UInt8]? {
        guard let frame = await connection.receive() else { return nil }
        if transport.passes(frame) { return frame }
        connection.close()
        return nil
    }

    func close() { connection.close() }
}
