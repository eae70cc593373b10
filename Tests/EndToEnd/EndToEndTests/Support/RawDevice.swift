import DocumentModel
import EventLoop
import Foundation
import HTTPClient
import SyncEngine
import SyncProtocol
import TestSupport
import WebSocket

/// A connection to the gateway that follows no rules: sends any bytes, and records what arrives.
final class RawDevice: Sendable {
    private struct State {
        var frames: [GatewayFrame] = []
        var closure: WebSocketClosure?
    }

    // Unchecked: the socket is used on its loop only.
    private struct Socket: @unchecked Sendable { let socket: WebSocket }

    private let loop: EventLoop
    private let socket: Socket
    private let state: Locked<State>

    private init(_ socket: Socket, _ loop: EventLoop, _ state: Locked<State>) {
        self.socket = socket
        self.loop = loop
        self.state = state
    }

    static func connect(_ system: RunningSystem, app: String = "rchat") async throws -> RawDevice {
        let state = Locked(State())
        var configuration = WebSocketConfiguration()
        configuration.maxQueuedBytes = 256 << 20
        configuration.maxMessageBytes = 64 << 20
        configuration.allowsCompression = false
        let socket = try await WebSocketClient.connect(
            system.syncURL.replacing("/rchat/", with: "/\(app)/"), subprotocols: [SyncProtocolVersion.name],
            configuration: configuration,
            on: system.loop
        ) { socket in
            socket.onMessage = { _, bytes in
                // If a frame can't be decoded, the test that waits for it fails.
                guard let frame = try? GatewayFrame(bytes) else { return }
                state.withLock { $0.frames.append(frame) }
            }
            socket.onClose = { closure in state.withLock { $0.closure = closure } }
        }
        return RawDevice(Socket(socket: socket), system.loop, state)
    }

    func send(text: String) { loop.execute { [socket] in socket.socket.send(text: text) } }

    func send(_ frame: DeviceFrame) { send(text: String(decoding: frame.encoded(), as: UTF8.self)) }

    func close() { loop.execute { [socket] in socket.socket.terminate() } }

    var isClosed: Bool { state.withLock { $0.closure != nil } }

    var frames: [GatewayFrame] { state.withLock { $0.frames } }

    /// Sends `hello`, and waits for the `welcome`.
    func greet(_ token: String) async throws {
        send(.hello(.init(device: UUID().uuidString.lowercased(), token: token)))
        try await wait("a welcome") { if case .welcome = $0 { true } else { false } }
    }

    func wait(_ what: String, for isIt: (GatewayFrame) -> Bool) async throws {
        try await eventually("\(what) came") { frames.contains(where: isIt) }
    }

    /// The code of the error that the gateway reports.
    func errorCode() async throws -> String {
        try await eventually("an error frame") {
            for case .error(let report) in frames { return report.code.rawValue }
            return nil
        }
    }

    /// How the gateway ends the connection.
    func closure() async throws -> WebSocketClosure {
        try await eventually("the gateway closes the connection") { state.withLock { $0.closure } }
    }
}

extension TestDevice {
    /// An access token, as any program that knows the password gets one.
    func accessToken(on system: RunningSystem) async throws -> String {
        let http = HTTPClient(loop: system.loop)
        let credentials: Document = ["username": .string(email), "password": .string(Self.password)]
        let answer = try await http.send(
            .init(
                method: "POST",
                url: system.publicURL + "/api/client/v2.0/app/rchat/auth/providers/local-userpass/login",
                headers: [.init("Content-Type", "application/json")], body: Array(ExtendedJSON.print(credentials).utf8))
        )
        await http.shutDown()
        guard let token = try ExtendedJSON.parseDocument(answer.body)["access_token"]?.stringValue else {
            throw SystemFailure(description: "no token: \(answer.text)")
        }
        return token
    }
}
