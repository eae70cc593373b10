import DocumentModel

/// The topic `trigger-failures`: the dead letters of triggers, with the event. Those that can be replayed are in the table
/// `partita.trigger_failures`.
///
/// Written by trigger workers.
public struct TriggerFailure: Sendable {
    /// The error with which the function ended.
    public struct Failure: Hashable, Sendable {
        /// A stable name, such as `FunctionExecutionError` or `not-deterministic`.
        public var code: String
        public var message: String
        /// The function, if it had started.
        public var function: String?
        /// The line in the function's source, if it is known.
        public var line: Int32?

        /// Creates an error.
        public init(code: String, message: String, function: String? = nil, line: Int32? = nil) {
            self.code = code
            self.message = message
            self.function = function
            self.line = line
        }
    }

    @ExactText public var app: String
    /// The trigger's name.
    @ExactText public var trigger: String
    /// The CloudEvents id of the event that it failed on.
    public var failedEvent: String
    /// The event that the trigger received.
    public var event: Document
    /// Whether the event lacks its documents, which are too large for a message.
    public var isEventCut: Bool
    public var error: Failure
    /// The runs of triggers that led to the event; `nil` if no trigger wrote what it is about.
    public var causedBy: TriggerChain?
    /// The number of attempts, at least 1.
    public var attempts: Int32
    /// When it was dead-lettered, in milliseconds since 1970.
    public var time: Int64

    /// Creates a dead letter.
    public init(
        app: String, trigger: String, failedEvent: String, event: Document, isEventCut: Bool = false, error: Failure,
        causedBy: TriggerChain? = nil, attempts: Int32, time: Int64
    ) {
        self.app = app
        self.trigger = trigger
        self.failedEvent = failedEvent
        self.event = event
        self.isEventCut = isEventCut
        self.error = error
        self.causedBy = causedBy
        self.attempts = attempts
        self.time = time
    }

    /// The most bytes of an error's message in a dead letter that is too large for a message otherwise.
    private static let longestMessage = 16 << 10

    /// The fields of an event that say what it is about.
    private static let naming: Set<ExactText> = ["_id", "operationType", "ns", "documentKey", "wallTime", "time"]

    /// The dead letter without what may be large: the event only names what it is about.
    public var cut: TriggerFailure {
        var cut = self
        cut.event = Document(fields: event.fields.filter { Self.naming.contains(ExactText($0.key)) })
        cut.isEventCut = true
        cut.error.message = String(decoding: error.message.utf8.prefix(Self.longestMessage), as: UTF8.self)
        return cut
    }
}

extension TriggerFailure: EventPayload {
    static let failedType = "partita.trigger.failed.v1"

    public static let topic = Topic<TriggerFailure>(
        "trigger-failures", "The dead letters of triggers.", partitions: 4,
        cleanup: .delete(after: .seconds(14 * 86_400)),
        key: "{app}/{trigger}", types: [failedType], writers: [.triggerWorkers], readers: [])

    public var key: String { EventKey.text(app, trigger) }
    public var type: String { Self.failedType }
    public var eventID: String { "\(app)/\(trigger)/\(failedEvent)/\(time)" }
    public var subject: String { trigger }

    public func encoded() -> Document {
        var failure: Document = ["code": .string(error.code), "message": .string(error.message)]
        failure.append("function", error.function.map(Value.string))
        failure.append("line", error.line.map(Value.int32))
        var document: Document = [
            "app": .string(app), "trigger": .string(trigger), "failedEvent": .string(failedEvent),
            "event": .document(event), "error": .document(failure), "attempts": .int32(attempts), "time": .date(time),
        ]
        document.append("isEventCut", isEventCut ? true : nil)
        document.append(TriggerChain.field, causedBy.map { .document($0.encoded()) })
        return document
    }

    public init(_ document: Document, attributes: EventAttributes) throws(EventTopicsError) {
        try attributes.require(type: Self.failedType, of: Self.topic.name)
        let reader = FieldReader(document)
        let failure = try reader.nested("error")
        self.init(
            app: try reader.string("app"), trigger: try reader.string("trigger"),
            failedEvent: try reader.string("failedEvent"), event: try reader.document("event"),
            isEventCut: try reader.flag("isEventCut"),
            error: Failure(
                code: try failure.string("code"), message: try failure.string("message"),
                function: try failure.optionalString("function"),
                line: try failure.optionalInteger("line").map { Int32(clamping: $0) }),
            causedBy: try reader.optionalNested(TriggerChain.field).map { (reader) throws(EventTopicsError) in
                try TriggerChain(reader)
            },
            attempts: Int32(clamping: try reader.integer("attempts")), time: try reader.date("time"))
    }
}
