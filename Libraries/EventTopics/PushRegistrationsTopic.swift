import DocumentModel

/// The topic `push-registrations`: the tokens by which push services reach the devices of users. The newest message of a key says whether the
/// device is registered; one without a value removes a deleted user's.
///
/// Written by auth. No service reads it: it is for a team's own sender of push messages.
public struct PushRegistrationEvent: Sendable {
    @ExactText public var app: String
    /// The user's id.
    @ExactText public var user: String
    /// The device's id.
    @ExactText public var device: String
    /// The push service, by the name that the client uses, such as `gcm`.
    @ExactText public var provider: String
    /// The token of the push service; `nil` when the device has deregistered, or the user was deleted.
    public var token: String?
    /// Grows with each change of this registration.
    public var version: Int64
    /// Milliseconds since 1970.
    public var time: Int64

    /// Creates an event.
    public init(
        app: String, user: String, device: String, provider: String, token: String?, version: Int64, time: Int64
    ) {
        self.app = app
        self.user = user
        self.device = device
        self.provider = provider
        self.token = token
        self.version = version
        self.time = time
    }
}

extension PushRegistrationEvent: EventPayload {
    static let registeredType = "partita.push.registered.v1"
    static let deregisteredType = "partita.push.deregistered.v1"

    public static let topic = Topic<PushRegistrationEvent>(
        "push-registrations", "The tokens by which push services reach devices.", partitions: 4, cleanup: .compact,
        key: "{app}/{user}/{device}/{provider}", types: [registeredType, deregisteredType], writers: [.auth],
        readers: [])

    public var key: String { EventKey.text(app, user, device, provider) }
    public var type: String { token == nil ? Self.deregisteredType : Self.registeredType }
    public var eventID: String { "\(key)/\(version)" }
    public var subject: String { user }

    public func encoded() -> Document {
        var document: Document = [
            "app": .string(app), "userId": .string(user), "device": .string(device), "provider": .string(provider),
        ]
        document.append("token", token.map(Value.string))
        document.append("version", .int64(version))
        document.append("time", .date(time))
        return document
    }

    public init(_ document: Document, attributes: EventAttributes) throws(EventTopicsError) {
        let reader = FieldReader(document)
        let token: String?
        switch attributes.type {
        case Self.registeredType: token = try reader.string("token")
        case Self.deregisteredType: token = nil
        default: throw EventTopicsError(.unknownType, "\(attributes.type) is not in \(Self.topic.name)")
        }
        self.init(
            app: try reader.string("app"), user: try reader.string("userId"), device: try reader.string("device"),
            provider: try reader.string("provider"), token: token, version: try reader.integer("version"),
            time: try reader.date("time"))
    }
}
