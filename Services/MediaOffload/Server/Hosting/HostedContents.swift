import AppRegistry
import DocumentModel
import EventLoop
import HTTPServer

/// The contents of hosted files in memory: those that were requested last, and those that are being sent. Requests for the same file share
/// its bytes.
final class HostedContents: Sendable {
    /// A file as it is sent.
    struct Key: Hashable {
        @ExactText var app: String
        @ExactText var digest: String
        let isCompressed: Bool
    }

    /// Bytes that count against the budget until nobody needs them.
    final class Content: Sendable {
        let bytes: [UInt8]
        private let end: @Sendable () -> Void

        init(_ bytes: [UInt8], end: @escaping @Sendable () -> Void) {
            self.bytes = bytes
            self.end = end
        }

        deinit { end() }
    }

    private struct State {
        var kept: [Key: (content: Content, use: Int)] = [:]
        var keptBytes = 0
        var uses = 0
        var loading: [Key: Task<Content, any Error>] = [:]
    }

    private let registry: AppRegistry
    private let keptLimit: Int
    private let budget: InflightBudget
    private let state = Locked(State())

    /// - Parameters:
    ///   - keptLimit: the most bytes that are kept for later requests.
    ///   - limit: the most bytes with those that are being sent. An app gets more only while more is free than it has.
    init(registry: AppRegistry, keptLimit: Int = 64 << 20, limit: Int = 256 << 20) {
        self.registry = registry
        self.keptLimit = keptLimit
        budget = InflightBudget(limit: limit)
    }

    /// The bytes of a file.
    /// - Parameter size: their number.
    /// - Throws: `HTTPError` 503 when too much is being sent, or when a deployment has just replaced the file; errors of Postgres.
    func content(_ key: Key, size: Int) async throws -> Content {
        enum Found {
            case kept(Content)
            case loading(Task<Content, any Error>)
        }
        let found: Found = state.withLock { state in
            state.uses += 1
            if let kept = state.kept[key] {
                state.kept[key]?.use = state.uses
                return .kept(kept.content)
            }
            if let task = state.loading[key] { return .loading(task) }
            // All who wait share it, so a client who leaves doesn't end it.
            let task = Task { try await self.load(key, size) }
            state.loading[key] = task
            return .loading(task)
        }
        switch found {
        case .kept(let content): return content
        case .loading(let task): return try await task.value
        }
    }

    private func load(_ key: Key, _ size: Int) async throws -> Content {
        defer { state.withLock { $0.loading[key] = nil } }
        let sender = UInt64(truncatingIfNeeded: ExactText(key.app).hashValue)
        try take(size, for: key.app, of: sender)
        let bytes: [UInt8]
        do {
            guard
                let found = try await registry.content(
                    of: key.app, digest: key.digest, isCompressed: key.isCompressed)
            else { throw HTTPError(503, code: "ServiceUnavailable", "the app is being deployed; try again") }
            bytes = found
        } catch {
            budget.giveBack(size, of: sender)
            throw error
        }
        let content = Content(bytes) { [budget] in budget.giveBack(size, of: sender) }
        let dropped = state.withLock { state in
            state.kept[key] = (content, state.uses)
            state.keptBytes += bytes.count
            return Self.drop(from: &state, to: keptLimit)
        }
        _ = dropped  // outside of the lock, where the last reference may end
        return content
    }

    /// Takes bytes from the budget, which may need those that are only kept: of an app that has its share only its own.
    private func take(_ size: Int, for app: String, of sender: UInt64) throws(HTTPError) {
        var refusal = budget.take(size, of: sender)
        if refusal == .share { refusal = dropUntilTaken(size, of: sender) { $0.app.hasSameBytes(as: app) } }
        if refusal == .full { refusal = dropUntilTaken(size, of: sender) { _ in true } }
        if refusal == nil { return }
        throw HTTPError(
            503, code: "ServiceUnavailable", "too many hosted files are being sent at the moment; try again later")
    }

    /// Drops what was used longest ago, one after the other, until there is room.
    private func dropUntilTaken(
        _ size: Int, of sender: UInt64, where isDroppable: (Key) -> Bool
    ) -> InflightBudget.Refusal? {
        let oldest = state.withLock { state in
            state.kept.filter { isDroppable($0.key) }.sorted { $0.value.use < $1.value.use }.map(\.key)
        }
        for key in oldest {
            _ = state.withLock { Self.drop(key, from: &$0) }  // outside of the lock, where the last reference may end
            if budget.take(size, of: sender) == nil { return nil }
        }
        return budget.take(size, of: sender)
    }

    /// Drops what was used longest ago.
    private static func drop(from state: inout State, to limit: Int) -> [Content] {
        var dropped: [Content] = []
        guard state.keptBytes > limit else { return dropped }
        for (key, _) in state.kept.sorted(by: { $0.value.use < $1.value.use }) {
            guard state.keptBytes > limit else { break }
            if let content = drop(key, from: &state) { dropped.append(content) }
        }
        return dropped
    }

    private static func drop(_ key: Key, from state: inout State) -> Content? {
        guard let kept = state.kept.removeValue(forKey: key) else { return nil }
        state.keptBytes -= kept.content.bytes.count
        return kept.content
    }
}
