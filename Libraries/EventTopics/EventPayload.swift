import DocumentModel

/// The payload of a topic's events. Its fields are the message's value, and determine the message's key and attributes.
public protocol EventPayload: Sendable {
    /// The topic of these events.
    static var topic: Topic<Self> { get }

    /// The app that it concerns; `*` for all apps of the pool.
    var app: String { get }
    /// The message's key, which begins with the app: events with the same key stay in order.
    var key: String { get }
    /// Its CloudEvents `type`, one of the contract's `types`.
    var type: String { get }
    /// Its CloudEvents `id`: the same for every delivery, also when the event is sent again, and different from the ids of all
    /// other events of the topic.
    var eventID: String { get }
    /// Its CloudEvents `subject`: the object that it concerns, within the app.
    var subject: String { get }
    /// When it happened, in milliseconds since 1970.
    var time: Int64 { get }

    /// The message's value.
    func encoded() -> Document

    /// Decodes a message's value. Unknown fields are ignored, so that newer writers don't break older readers.
    /// - Throws: `EventTopicsError` for a type, field or value outside of the contract.
    init(_ document: Document, attributes: EventAttributes) throws(EventTopicsError)
}

/// The CloudEvents attributes of a message.
public struct EventAttributes: Hashable, Sendable {
    /// The `id`.
    @ExactText public var id: String
    /// The `source`.
    @ExactText public var source: String
    /// The `type`.
    public var type: String
    /// The `subject`; empty when absent.
    @ExactText public var subject: String
    /// The `time`, in milliseconds since 1970.
    public var time: Int64
    /// The trace that it belongs to (W3C Trace Context).
    public var traceparent: String?

    /// Creates the attributes of an event.
    public init(id: String, source: String, type: String, subject: String, time: Int64, traceparent: String? = nil) {
        self.id = id
        self.source = source
        self.type = type
        self.subject = subject
        self.time = time
        self.traceparent = traceparent
    }
}
