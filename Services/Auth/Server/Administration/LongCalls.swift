import DocumentModel
import EventLoop

/// The long calls of the administration API, of which few run at a time, since users who sign in need the connections to Postgres and the
/// memory. The others wait for their turn, those of each token behind each other.
struct LongCalls: Sendable {
    /// Of three places one token gets at most two.
    private let apps = FairGate<ExactText>(places: 3, waiting: 4)
    private let documents = FairGate<ExactText>(places: 3, waiting: 32)

    /// The longest time that a call waits for its turn.
    private static let patience = Duration.seconds(5)

    /// Runs a call when it is its turn.
    /// - Throws: `AuthError` with `serviceUnavailable` when its turn doesn't come; what `body` throws.
    func run<Result: Sendable>(
        _ load: AdminAction.Load, of caller: AdminCaller, _ body: () async throws -> Result
    ) async throws -> Result {
        let gate: FairGate<ExactText>
        switch load {
        case .short: return try await body()
        case .app: gate = apps
        case .documents: gate = documents
        }
        let token = ExactText(caller.tokenId)
        do { try await gate.enter(token, within: Self.patience) } catch let refusal as FairGate<ExactText>.Refusal {
            let what = load == .app ? "deployments, comparisons, exports and checks" : "calls for documents and indexes"
            throw AuthError(
                .serviceUnavailable, "other \(what) are running: \(refusal); try again later", retryAfter: 5)
        }
        defer { gate.leave(token) }
        return try await body()
    }
}
