import AppDefinition
import DocumentModel

/// An event for which a trigger's function runs.
struct TriggerEvent: Sendable {
    /// The event's id, the same at every delivery.
    let id: String
    /// The function's argument.
    let argument: Document
    /// The time of the run's clock, in milliseconds since 1970.
    let time: Int64
    /// The change that it is about; `nil` for an event of an account or a schedule.
    var change: (partition: Partition, revision: Revision)?
    /// The runs of triggers that led to the event; `nil` if no trigger wrote what it is about.
    var causedBy: TriggerChain?

    /// The chain of what the trigger's run for this event writes.
    func chain(of trigger: TriggerDefinition) -> TriggerChain {
        (causedBy ?? TriggerChain(beginning: id)).followed(by: trigger.name)
    }
}
