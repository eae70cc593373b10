import Cmicrohttpd

/// One request and its answer; libmicrohttpd's slot for the request holds it.
///
/// `@unchecked Sendable`: touched on the loop of its listener only; the task of its handler just passes it back there.
final class HTTPExchange: @unchecked Sendable {
    enum Phase {
        /// The request line is in, nothing else is known.
        case head
        /// The body comes in.
        case body
        /// The body is too long: what still comes is dropped, up to a limit, so that the client reads the answer.
        case discarding(HTTPError, left: Int)
        /// The handler runs.
        case running
        /// The answer is there, or with libmicrohttpd.
        case answered(HTTPResponse)
    }

    /// Nil once the peer has gone or the answer is sent; libmicrohttpd frees it then.
    var connection: OpaquePointer?
    let target: String
    /// Where the target was in libmicrohttpd's buffer; see ``HeadLayout``.
    let targetAddress: UInt
    var phase = Phase.head
    var request: HTTPRequest?
    /// Who calls, once the head is read.
    var client: RemoteAddress?
    var routed: RequestPipeline.Routed?
    var bodyLimit = 0
    /// What its body has of the budget.
    var bodyBytes = 0
    var isSuspended = false
    var task: Task<Void, Never>?
    var stream: ResponseStream?
    /// Carries this request and others after it.
    let carrier: RequestDeadlines.Connection?
    /// Where it stands in its listener's list.
    var position = 0

    init(
        _ connection: OpaquePointer?, carrier: RequestDeadlines.Connection?, target: String, targetAddress: UInt
    ) {
        self.connection = connection
        self.carrier = carrier
        self.target = target
        self.targetAddress = targetAddress
    }

    /// libmicrohttpd leaves the connection alone until ``resume()``. Only from its callbacks.
    func suspend() {
        guard let connection, !isSuspended else { return }
        isSuspended = true
        MHD_suspend_connection(connection)
    }

    /// - Returns: whether libmicrohttpd has to run for it.
    func resume() -> Bool {
        guard let connection, isSuspended else { return false }
        isSuspended = false
        MHD_resume_connection(connection)
        return true
    }
}
