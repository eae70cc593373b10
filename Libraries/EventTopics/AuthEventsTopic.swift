import DocumentModel

/// The topic `auth-events`: events of accounts and sessions, in order per user.
///
/// Written by auth. Read by trigger workers (authentication triggers), by permissions for users who are deleted, disabled or
/// enabled again, and by all services that accept calls of users, for these users and for ended sessions.
public struct AuthEvent: Sendable {
    /// The kind of event. The raw value is part of the CloudEvents type.
    public enum Kind: String, CaseIterable, Sendable {
        case userCreated = "user-created"
        case signedIn = "signed-in"
        case signedOut = "signed-out"
        case userDeleted = "user-deleted"
        case userDisabled = "user-disabled"
        case userEnabled = "user-enabled"
        case identityLinked = "identity-linked"
        case sessionRevoked = "session-revoked"

        /// The corresponding `operationType` of App Services' authentication triggers; `nil` if there is none.
        public var operationType: String? {
            switch self {
            case .userCreated: "CREATE"
            case .signedIn: "LOGIN"
            case .userDeleted: "DELETE"
            case .signedOut, .userDisabled, .userEnabled, .identityLinked, .sessionRevoked: nil
            }
        }
    }

    /// The CloudEvents id, which is generated and stored together with the event.
    @ExactText public var id: String
    @ExactText public var app: String
    public var kind: Kind
    /// The user's id.
    public var userID: String
    /// The user in the form that functions see (`id`, `type`, `data`, `identities`). It is included because no other service reads
    /// auth's tables.
    public var user: Document
    /// The identity providers that the event concerns, such as `local-userpass`.
    public var providers: [String]
    /// The session that the event concerns, if any.
    public var session: String?
    /// The device that the event concerns, if any.
    public var device: String?
    /// For a session that has ended: when its last access token expires, in milliseconds since 1970.
    public var accessUntil: Int64?
    /// The time of the event, in milliseconds since 1970.
    public var time: Int64

    /// Creates an event.
    public init(
        id: String, app: String, kind: Kind, userID: String, user: Document, providers: [String] = [],
        session: String? = nil, device: String? = nil, accessUntil: Int64? = nil, time: Int64
    ) {
        self.id = id
        self.app = app
        self.kind = kind
        self.userID = userID
        self.user = user
        self.providers = providers
        self.session = session
        self.device = device
        self.accessUntil = accessUntil
        self.time = time
    }
}

extension AuthEvent: EventPayload {
    public static let topic = Topic<AuthEvent>(
        "auth-events", "What happened to accounts and sessions.", partitions: 4,
        cleanup: .delete(after: .seconds(3 * 86_400)), key: "{app}/{user}",
        types: Kind.allCases.map { "partita.auth.\($0.rawValue).v1" }, writers: [.auth],
        readers: [.triggerWorkers, .permissions, .syncGateway, .mediaOffload])

    public var key: String { EventKey.text(app, userID) }
    public var type: String { "partita.auth.\(kind.rawValue).v1" }
    public var eventID: String { id }
    public var subject: String { userID }

    public func encoded() -> Document {
        var document: Document = ["app": .string(app)]
        document.append("operationType", kind.operationType.map(Value.string))
        document.append("userId", .string(userID))
        document.append("user", .document(user))
        document.append("providers", .array(providers.map(Value.string)))
        document.append("session", session.map(Value.string))
        document.append("device", device.map(Value.string))
        document.append("accessUntil", accessUntil.map(Value.date))
        document.append("time", .date(time))
        return document
    }

    public init(_ document: Document, attributes: EventAttributes) throws(EventTopicsError) {
        guard let kind = Kind.allCases.first(where: { "partita.auth.\($0.rawValue).v1" == attributes.type }) else {
            throw EventTopicsError(.unknownType, "\(attributes.type) is not in \(Self.topic.name)")
        }
        let reader = FieldReader(document)
        self.init(
            id: attributes.id, app: try reader.string("app"), kind: kind, userID: try reader.string("userId"),
            user: try reader.document("user"), providers: try reader.strings("providers"),
            session: try reader.optionalString("session"), device: try reader.optionalString("device"),
            accessUntil: try reader.optionalDate("accessUntil"), time: try reader.date("time"))
    }
}
