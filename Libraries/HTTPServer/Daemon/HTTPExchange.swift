import Cmicrohttpd

/// One request and its response, which is stored in libmicrohttpd's slot for the request.
///
/// `@unchecked Sendable`: used only on its listener's loop; the handler's task only passes it back to that loop.
final class HTTPExchange: @unchecked Sendable {
    enum Phase {
        /// The request line is received, nothing else is known.
        case head
        /// The body is being received.
        case body
        /// The handler runs.
        case running
        /// The response is ready.
        case answered(HTTPResponse)
        /// The response is passed to libmicrohttpd, which keeps what it needs of it.
        case sent
    }

    /// `nil` once the peer has disconnected or the response is sent; libmicrohttpd frees it then.
    var connection: OpaquePointer?
    let target: String
    /// The address of the target in libmicrohttpd's buffer; see ``HeadLayout``.
    let targetAddress: UInt
    var phase = Phase.head
    var request: HTTPRequest?
    /// The client's address, once the head is read.
    var client: RemoteAddress?
    var routed: RequestPipeline.Routed?
    var bodyLimit = 0
    /// The number of bytes that its body takes from the budget.
    var bodyBytes = 0
    /// The number of bytes that its response takes from the budget of responses.
    var answerBytes = 0
    /// How fast its response is sent; `nil` until it is, and for streams.
    var progress: AnswerProgress?
    var isSuspended = false
    /// Whether its client may get interim responses, which HTTP/1.0 hasn't.
    var takesInterim = false
    /// Whether a client that sends nothing more was asked whether it still receives.
    var isProbed = false
    var task: Task<Void, Never>?
    var stream: ResponseStream?
    /// The connection of this request and of later ones.
    let carrier: RequestDeadlines.Connection?
    /// Its index in its listener's list.
    var position = 0

    init(
        _ connection: OpaquePointer?, carrier: RequestDeadlines.Connection?, target: String, targetAddress: UInt
    ) {
        self.connection = connection
        self.carrier = carrier
        self.target = target
        self.targetAddress = targetAddress
    }

    /// Makes libmicrohttpd ignore the connection until ``resume()``. Must be called only from its callbacks.
    func suspend() {
        guard let connection, !isSuspended else { return }
        isSuspended = true
        MHD_suspend_connection(connection)
    }

    /// - Returns: whether libmicrohttpd has to run because of it.
    func resume() -> Bool {
        guard let connection, isSuspended else { return false }
        isSuspended = false
        MHD_resume_connection(connection)
        return true
    }
}
