import EventLoop
import TLS

/// Opens WebSockets as a client, over plain TCP (`ws://`) or TLS (`wss://`, 1.2 or newer).
public enum WebSocketClient {
    /// Connects, upgrades and returns the open socket, which runs on `loop`. Of a host with several addresses, the next one is tried when one
    /// doesn't accept the connection within its part of the time, or TLS fails there.
    ///
    /// - Parameters:
    ///   - url: `ws://host[:port][/path][?query]`, or the same with `wss://`.
    ///   - headers: additional headers of the request, for example `Authorization`.
    ///   - subprotocols: those to offer, the preferred one first; a server may accept none, see ``WebSocket/subprotocol``.
    ///   - configuration: limits and timeouts; usually pings are left to the server.
    ///   - certificateAuthorityFile: a file of certificates to trust instead of the system's, for `wss://`.
    ///   - timeout: the time limit for name resolution, connection, TLS and upgrade together.
    ///   - open: sets the callbacks; runs on `loop` before the first message is read.
    /// - Throws: ``WebSocketError``. If a server answers with another status than 101, throws `refused` with the status and the
    ///   beginning of the body. Cancelling the task throws `cancelled` and closes the connection.
    public static func connect(
        _ url: String, headers: [(String, String)] = [], subprotocols: [String] = [],
        configuration: WebSocketConfiguration = WebSocketConfiguration(), certificateAuthorityFile: String? = nil,
        timeout: Duration = .seconds(10), on loop: EventLoop,
        open: @escaping @Sendable (WebSocket) -> Void
    ) async throws -> WebSocket {
        let request = try UpgradeRequest(
            url: WebSocketURL(url), headers: headers, subprotocols: subprotocols,
            offersCompression: configuration.allowsCompression)
        let addresses = try await SocketAddresses.resolve(request.url.host, port: request.url.port, timeout: timeout)
        return try await connect(
            request, addresses, SessionSettings(configuration), certificateAuthorityFile, timeout, loop, open)
    }

    /// Connects as the other method does, to the addresses of a host that are known already, in their order.
    package static func connect(
        _ url: String, to addresses: [SocketAddress], certificateAuthorityFile: String? = nil,
        timeout: Duration, on loop: EventLoop, open: @escaping @Sendable (WebSocket) -> Void
    ) async throws -> WebSocket {
        let configuration = WebSocketConfiguration()
        let request = try UpgradeRequest(
            url: WebSocketURL(url), headers: [], subprotocols: [],
            offersCompression: configuration.allowsCompression)
        return try await connect(
            request, addresses, SessionSettings(configuration), certificateAuthorityFile, timeout, loop, open)
    }

    private static func connect(
        _ request: UpgradeRequest, _ addresses: [SocketAddress], _ settings: SessionSettings,
        _ certificateAuthorityFile: String?, _ timeout: Duration, _ loop: EventLoop,
        _ open: @escaping @Sendable (WebSocket) -> Void
    ) async throws -> WebSocket {
        let trust = request.url.isSecure ? try await context(TLSTrust(authorities: certificateAuthorityFile)) : nil
        let connector = ClientConnector(
            loop, request: request, addresses: addresses, trust: trust, settings: settings, open: open)
        return try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { (continuation: CheckedContinuation<WebSocket, any Error>) in
                loop.execute { connector.start(timeout: timeout.milliseconds, continuation) }
            }
        } onCancel: {
            loop.execute { connector.fail(WebSocketError(.cancelled, "cancelled")) }
        }
    }

    private static func context(_ trust: TLSTrust) async throws -> TLSContext {
        do {
            return try await TLSContext.of(trust)
        } catch let error as TLSError {
            throw WebSocketError(error)
        }
    }
}
