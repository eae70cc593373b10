public import DocumentModel
import DocumentStore
import EventLoop
public import HTTPServer

/// Handles requests whose bodies are large: on threads that serve no sockets, and of a user only a few at a time, since to parse
/// megabytes takes a processor for a second.
public final class LargeBodies: Sendable {
    /// The size in bytes up to which a body is parsed where the request arrived.
    static let small = 64 << 10
    /// How long a body waits to be parsed.
    private static let patience = Duration.seconds(10)

    private let gate = FairGate<String>(places: 4, waiting: 500)

    public init() {}

    /// Runs a handler.
    nonisolated(nonsending) public func run(
        _ request: HTTPRequest, _ handle: @Sendable (HTTPRequest) async throws -> HTTPResponse
    ) async throws -> HTTPResponse {
        if request.body.count <= Self.small { return try await handle(request) }
        return try await withTaskExecutorPreference(WorkerPool.shared) { try await handle(request) }
    }

    /// The body as Extended JSON, when it is the caller's turn.
    /// - Throws: `HTTPError` 400 `BadRequest`; 429 `TooManyRequests` when its turn doesn't come.
    public func document(of request: HTTPRequest, from user: String, of app: String) async throws -> Document {
        if request.body.count <= Self.small { return try request.document() }
        let member = ExactText(user)
        do {
            try await gate.enter(app, member: member, within: Self.patience)
        } catch let refusal as FairGate<String>.Refusal {
            throw HTTPError(call: DocumentStoreError(.overloaded, "\(refusal); try again later"))
        }
        defer { gate.leave(app, member: member) }
        return try request.document()
    }
}
