import DocumentStore
import WebSocket

/// What a subscription's state machine carries without looking inside.
enum FeedPayload: Sendable {
    /// A live frame, the same for every subscriber.
    case frame(WebSocketFrame)
    /// What a catch-up read; its frame is made when its progress is known.
    case chunk(CatchUp)
}
