public import EventTopics

/// Events that don't wait in this process: somebody reads them later from where they are kept for good, and injects them.
///
/// A consumer that has one lets offsets go on under pressure, before the effects: what a crash loses is found in the same place.
public protocol EventBacklog<Payload>: Sendable {
    associatedtype Payload: EventPayload

    /// Whether an event is left for later.
    /// - Parameter isOverBudget: whether its share holds too much of what may wait here.
    func takes(_ event: ReceivedEvent<Payload>, isOverBudget: Bool) -> Bool

    /// Partitions of the topic came or went.
    func partitionsMoved()
}
