import DocumentModel

/// An event for which a trigger's function runs.
struct TriggerEvent: Sendable {
    /// The event's id, the same at every delivery.
    let id: String
    /// The function's argument.
    let argument: Document
    /// The time of the run's clock, in milliseconds since 1970.
    let time: Int64
}
