import DocumentModel
import EventLoop
import Foundation
import SyncEngine
import SyncProtocol
import WebSocket

/// A device by hand: sends frames, and takes what comes one after the other.
final class Device: Sendable {
    struct Unexpected: Error { let what: String }

    enum Arrival: Sendable {
        case frame(GatewayFrame)
        case end(WebSocketClosure)
        case timeout
    }

    private let socket: WebSocket
    private let arrivals: AsyncStream<Arrival>
    private let input: AsyncStream<Arrival>.Continuation

    init(port: Int, app: String = GatewayFixture.app, subprotocol: String? = SyncProtocolVersion.name) async throws {
        let (arrivals, input) = AsyncStream.makeStream(of: Arrival.self)
        self.arrivals = arrivals
        self.input = input
        var configuration = WebSocketConfiguration()
        configuration.maxQueuedBytes = 64 << 20
        configuration.maxMessageBytes = 64 << 20
        socket = try await WebSocketClient.connect(
            "ws://127.0.0.1:\(port)/v1/apps/\(app)/sync", subprotocols: subprotocol.map { [$0] } ?? [],
            configuration: configuration, on: GatewayFixture.loops.next()
        ) { socket in
            socket.onMessage = { _, bytes in
                do { input.yield(.frame(try GatewayFrame(bytes))) } catch {
                    input.yield(.end(WebSocketClosure(.protocolError, "\(error)")))
                }
            }
            socket.onClose = { input.yield(.end($0)) }
        }
    }

    func send(_ frame: DeviceFrame) async throws { send(text: String(decoding: frame.encoded(), as: UTF8.self)) }

    func send(text: String) { socket.loop.execute { [socket] in socket.send(text: text) } }

    /// Says nothing any more and hears nothing, as when the network is gone.
    func fallSilent() { socket.loop.execute { [socket] in socket.pauseReading() } }

    /// Hears and speaks again.
    func recover() { socket.loop.execute { [socket] in socket.resumeReading() } }

    func close() { socket.loop.execute { [socket] in socket.close() } }

    /// How long a device waits for what has to come at once, also on a busy machine.
    static let patience = Duration.seconds(30)

    /// The next arrival. One caller at a time.
    func arrival(within time: Duration = Device.patience) async -> Arrival {
        let timer = Task { [input] in
            try await Task.sleep(for: time)  // the time limit; cancelled by what arrives
            input.yield(.timeout)
        }
        defer { timer.cancel() }
        var iterator = arrivals.makeAsyncIterator()
        return await iterator.next() ?? .timeout
    }

    func next(within time: Duration = Device.patience) async throws -> GatewayFrame {
        let arrival = await arrival(within: time)
        guard case .frame(let frame) = arrival else { throw Unexpected(what: "\(arrival)") }
        return frame
    }

    /// The error that the gateway reports next.
    func error() async throws -> GatewayFrame.ErrorReport {
        let frame = try await next()
        guard case .error(let report) = frame else { throw Unexpected(what: "\(frame)") }
        return report
    }

    func end() async throws -> WebSocketClosure {
        while true {
            switch await arrival() {
            case .end(let closure): return closure
            case .timeout: throw Unexpected(what: "no end")
            case .frame: continue
            }
        }
    }

    /// Opens a partition, and takes its frames up to the end of the catch-up.
    func open(
        _ partition: Partition, checkpoint: Revision = Revision(epoch: 1, number: 0), holds: Holdings? = nil
    ) async throws -> (subscribed: GatewayFrame.Subscribed, chunks: [Download]) {
        try await send(.subscribe(partition: partition, checkpoint: checkpoint, holds: holds))
        let frame = try await next()
        guard case .subscribed(let subscribed) = frame else { throw Unexpected(what: "\(frame)") }
        var chunks: [Download] = []
        while chunks.last?.catchUp?.isFinal != true { chunks.append(try await download()) }
        return (subscribed, chunks)
    }

    func download(within time: Duration = Device.patience) async throws -> Download {
        let frame = try await next(within: time)
        guard case .download(_, let download) = frame else { throw Unexpected(what: "\(frame)") }
        return download
    }

    /// Offers an insert.
    func upload(
        _ version: Int64, insert id: String, into partition: Partition, _ fields: Document = [:],
        clock: Int64? = nil
    ) async throws {
        var document: Document = [
            "_id": .string(id), "partition": .string(String(partition.text.dropFirst(2))),
            "author": "ann@chat.example", "text": "hello", "timestamp": .date(1000),
        ]
        for field in fields.fields { document[field.key] = field.value }
        let now = Int64(Date().timeIntervalSince1970 * 1000)
        try await send(
            .upload(
                .init(
                    partition: partition, sentAt: now,
                    changesets: [
                        Changeset(
                            version: version, clock: HybridTime(milliseconds: clock ?? now),
                            operations: [.init(collection: "ChatMessage", id: .string(id), kind: .insert(document))])
                    ])))
    }

    /// The answer to an upload; live frames that come before it are passed over.
    func answer() async throws -> GatewayFrame {
        while true {
            let frame = try await next()
            if case .download = frame { continue }
            return frame
        }
    }
}
