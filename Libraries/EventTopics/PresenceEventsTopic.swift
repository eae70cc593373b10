import DocumentModel

/// The topic `presence-events`: devices go online and offline and report what their users do, in order per user.
///
/// Written by gateways (online, offline when a device disconnects, and what it reports) and trigger workers (offline when its lease
/// has expired). Read by both: gateways notify devices, trigger workers write the presence field.
public struct PresenceEvent: Hashable, Sendable {
    /// The kind of event.
    public enum State: String, Sendable {
        case online, offline
        /// The device is online, and reports what its user does.
        case said
    }

    /// Why a device went offline.
    public enum Why: String, Sendable {
        /// It signed off, or its connection was closed regularly.
        case left
        /// Its lease was not renewed.
        case expired
    }

    @ExactText public var app: String
    /// The user's id.
    @ExactText public var user: String
    @ExactText public var device: String
    public var state: State
    /// Why it went offline; only with `offline`.
    public var why: Why?
    /// Whether the user has any device online after this.
    public var isUserOnline: Bool
    /// When the device last gave a sign of life, in milliseconds since 1970 by Redis' clock.
    public var lastSeen: Int64
    /// The number of the user's change between online and offline; an event with an older number than the last one isn't written.
    /// With `said`, milliseconds since 1970.
    public var version: Int64
    /// Only with `said`: a word of the app, such as `away`.
    public var word: String?
    /// Only with `said`: any additional data of the app.
    public var data: Document?

    /// Creates an event.
    public init(
        app: String, user: String, device: String, state: State, why: Why? = nil, isUserOnline: Bool, lastSeen: Int64,
        version: Int64, word: String? = nil, data: Document? = nil
    ) {
        self.app = app
        self.user = user
        self.device = device
        self.state = state
        self.why = why
        self.isUserOnline = isUserOnline
        self.lastSeen = lastSeen
        self.version = version
        self.word = word
        self.data = data
    }
}

extension PresenceEvent: EventPayload {
    static let onlineType = "partita.presence.online.v1"
    static let offlineType = "partita.presence.offline.v1"
    static let saidType = "partita.presence.said.v1"

    public static let topic = Topic<PresenceEvent>(
        "presence-events", "Devices go online and offline, and report what their users do.", partitions: 4,
        cleanup: .delete(after: .seconds(3600)),
        key: "{app}/{user}", types: [onlineType, offlineType, saidType], writers: [.syncGateway, .triggerWorkers],
        readers: [.syncGateway, .triggerWorkers])

    public var key: String { EventKey.text(app, user) }
    public var type: String {
        switch state {
        case .online: Self.onlineType
        case .offline: Self.offlineType
        case .said: Self.saidType
        }
    }
    public var eventID: String {
        state == .said ? "\(app)/\(user)/\(device)/said/\(version)" : "\(app)/\(user)/\(device)/\(version)"
    }
    public var subject: String { user }
    public var time: Int64 { lastSeen }

    public func encoded() -> Document {
        var document: Document = [
            "app": .string(app), "user": .string(user), "device": .string(device), "state": .string(state.rawValue),
        ]
        document.append("why", why.map { .string($0.rawValue) })
        document.append("userOnline", .bool(isUserOnline))
        document.append("lastSeen", .date(lastSeen))
        document.append("version", .int64(version))
        document.append("word", word.map { .string($0) })
        document.append("data", data.map { .document($0) })
        return document
    }

    public init(_ document: Document, attributes: EventAttributes) throws(EventTopicsError) {
        guard Self.topic.contract.types.contains(attributes.type) else {
            throw EventTopicsError(.unknownType, "\(attributes.type) is not in \(Self.topic.name)")
        }
        let reader = FieldReader(document)
        self.init(
            app: try reader.string("app"), user: try reader.string("user"), device: try reader.string("device"),
            state: try reader.choice("state", State.self),
            why: try reader.optional("why") { $0.stringValue.flatMap(Why.init(rawValue:)) },
            isUserOnline: try reader.required("userOnline", \.boolValue), lastSeen: try reader.date("lastSeen"),
            version: try reader.integer("version"), word: try reader.optionalString("word"),
            data: try reader.optionalDocument("data"))
    }
}
