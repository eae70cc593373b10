import EventLoop
import PartitaClient

/// Connections of a device that notice when they are sent what they must not be sent.
final class MarkerWatch: SyncTransport {
    private struct State {
        var forbidden: [[UInt8]] = []
        var leaks: [String] = []
    }

    private let transport: LoopSyncTransport
    private let state = Locked(State())

    init(loop: EventLoop) { transport = LoopSyncTransport(loop: loop) }

    func connect(_ url: String, subprotocol: String) async throws -> any SyncConnection {
        Connection(connection: try await transport.connect(url, subprotocol: subprotocol), watch: self)
    }

    /// From now on nothing with this text may arrive.
    func forbid(_ text: String) { state.withLock { $0.forbidden.append(Array(text.utf8)) } }

    func allow() { state.withLock { $0.forbidden = [] } }

    var leaks: [String] { state.withLock { $0.leaks } }

    private func look(at frame: [UInt8]) {
        state.withLock { state in
            for text in state.forbidden where frame.contains(text) {
                state.leaks.append(String(decoding: text, as: UTF8.self))
            }
        }
    }

    private struct Connection: SyncConnection {
        let connection: any SyncConnection
        let watch: MarkerWatch

        func send(_ text: [UInt8]) { connection.send(text) }

        func receive() async -> [UInt8]? {
            let frame = await connection.receive()
            if let frame { watch.look(at: frame) }
            return frame
        }

        func close() { connection.close() }
    }
}
