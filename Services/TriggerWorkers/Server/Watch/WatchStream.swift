import EventLoop
import HTTPServer
import Secrets

/// Sends one stream of changes, from its opening to its end.
struct WatchStream: Sendable {
    /// The bytes from which on events aren't collected any further.
    private static let piece = 64 << 10

    /// Closes the stream when nothing refers to it any more, also when the response is never sent.
    let place: WatchPlace
    let sealer: TokenSealer
    let viewer: @Sendable () -> WatchViewer

    /// - Throws: `HTTPServerError` when the client has left.
    func send(to writer: HTTPBodyWriter) async throws {
        // On threads that serve no sockets: rules and filters are evaluated.
        try await withTaskExecutorPreference(WorkerPool.shared) {
            try await writer.write(ServerSentEvent.heartbeat(nil))
            let viewer = viewer()
            while true {
                switch await place.watch.queue.next() {
                case .heartbeat(let position):
                    try await writer.write(ServerSentEvent.heartbeat(position?.token(sealer)))
                case .changes(let changes): try await send(changes, viewer, writer)
                case .end(let end): return try await writer.write(ServerSentEvent.error(end))
                }
            }
        }
    }

    private func send(_ changes: [WatchQueue.Entry], _ viewer: WatchViewer, _ writer: HTTPBodyWriter) async throws {
        let queue = place.watch.queue
        var collected: [UInt8] = []
        for change in changes {
            let text: [UInt8]?
            do {
                text = try await viewer.text(of: change.change, token: change.position.token(sealer))
            } catch {
                return queue.end(error)
            }
            // A user who was blocked meanwhile gets nothing more.
            if queue.end != nil { return }
            guard let text else { continue }
            TriggerMetrics.watchEvents.increment()
            if collected.isEmpty { collected = text } else { collected += text }
            guard collected.count >= Self.piece else { continue }
            try await writer.write(collected)
            collected = []
        }
        if !collected.isEmpty { try await writer.write(collected) }
    }
}
