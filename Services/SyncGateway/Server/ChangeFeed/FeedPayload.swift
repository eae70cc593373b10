import DocumentStore

/// The payload that a subscription's state machine passes on without interpreting it.
enum FeedPayload: Sendable {
    /// Live changes, the same for every subscriber.
    case changes(SharedDownload)
    /// A revision without its changes, which nobody is sent.
    case announcement
    /// The result of a read for a catch-up; its frame is encoded when its progress is known.
    case chunk(CatchUp)
}
