public import EventTopics

/// Events that are deferred instead of waiting in this process: the backlog's owner reads them later from durable storage, and
/// injects them into the consumer.
///
/// Under backpressure, a consumer with a backlog advances offsets before the effects. Events that a crash loses are found in the
/// same storage.
public protocol EventBacklog<Payload>: Sendable {
    associatedtype Payload: EventPayload

    /// Returns whether the event is deferred; if so, the backlog has noted it.
    /// - Parameter isOverBudget: whether the event's share exceeds its budget of events that wait in this process.
    func takes(_ event: ReceivedEvent<Payload>, isOverBudget: Bool) -> Bool

    /// Called when partitions of the topic were assigned or revoked.
    func partitionsMoved()
}
