import DocumentModel

/// An event as a Kafka message: CloudEvents 1.0 in binary mode, attributes in headers, the payload alone in the value.
public struct EncodedEvent: Sendable {
    /// The message's key.
    @ExactText public var key: String
    /// Header names and values, always in the same order.
    public var headers: [(name: String, value: String)]
    /// The payload as canonical Extended JSON.
    public var value: [UInt8]
}

/// Encodes and decodes the envelope that all events have.
public enum EventEnvelope {
    /// The names of the headers.
    public enum Header {
        public static let specVersion = "ce_specversion"
        public static let id = "ce_id"
        public static let source = "ce_source"
        public static let type = "ce_type"
        public static let subject = "ce_subject"
        public static let time = "ce_time"
        public static let contentType = "content-type"
        public static let traceparent = "traceparent"

        /// The headers that every event has, in order.
        public static let required = [specVersion, id, source, type, subject, time, contentType]
        /// The headers that an event may have.
        public static let optional = [traceparent]
    }

    /// The value of `content-type`: Extended JSON is JSON.
    public static let contentType = "application/json"

    /// Encodes an event as a message.
    /// - Parameter traceparent: the trace that the event continues.
    public static func encode(_ payload: some EventPayload, traceparent: String? = nil) -> EncodedEvent {
        var headers = [
            (name: Header.specVersion, value: "1.0"),
            (name: Header.id, value: payload.eventID),
            (name: Header.source, value: source(of: payload)),
            (name: Header.type, value: payload.type),
            (name: Header.subject, value: payload.subject),
            (name: Header.time, value: ISODate.text(payload.time)),
            (name: Header.contentType, value: contentType),
        ]
        if let traceparent { headers.append((name: Header.traceparent, value: traceparent)) }
        var value: [UInt8] = []
        ExtendedJSON.append(payload.encoded(), mode: .exact, to: &value)
        return EncodedEvent(key: payload.key, headers: headers, value: value)
    }

    /// The `source` of an event: with the `id`, it is unique among all events of all topics of all pools that share a broker.
    public static func source<Payload: EventPayload>(of payload: Payload) -> String {
        "/partita/\(payload.app)/\(Payload.topic.name)"
    }

    /// Reads the attributes.
    /// - Parameter header: returns the value of a header by its name.
    /// - Throws: `missingHeader`, `unsupportedVersion`, or `wrongType` for a malformed time.
    public static func attributes(_ header: (String) -> String?) throws(EventTopicsError) -> EventAttributes {
        func required(_ name: String) throws(EventTopicsError) -> String {
            guard let value = header(name) else { throw EventTopicsError(.missingHeader, "\(name) is missing") }
            return value
        }
        let version = try required(Header.specVersion)
        guard version.hasPrefix("1.") else {
            throw EventTopicsError(.unsupportedVersion, "\(Header.specVersion) is not 1.x")
        }
        guard let time = ISODate.milliseconds(try required(Header.time)) else {
            throw EventTopicsError(.wrongType, "\(Header.time) must be an RFC 3339 time")
        }
        return EventAttributes(
            id: try required(Header.id), source: try required(Header.source), type: try required(Header.type),
            subject: header(Header.subject) ?? "", time: time, traceparent: header(Header.traceparent))
    }

    /// Reads an event.
    /// - Throws: `EventTopicsError` when headers or value are outside of the contract.
    public static func decode<Payload: EventPayload>(
        _ type: Payload.Type, value: [UInt8], attributes: EventAttributes
    ) throws(EventTopicsError) -> Payload {
        let document: Document
        do {
            document = try ExtendedJSON.parseDocument(value)
        } catch {
            throw EventTopicsError(.notADocument, "the value must be an Extended JSON document: \(error)")
        }
        return try Payload(document, attributes: attributes)
    }
}
