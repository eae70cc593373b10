import DocumentStore
import WebSocket

/// The payload that a subscription's state machine passes on without interpreting it.
enum FeedPayload: Sendable {
    /// A live frame, the same for every subscriber.
    case frame(WebSocketFrame)
    /// The result of a read for a catch-up; its frame is encoded when its progress is known.
    case chunk(CatchUp)
}
