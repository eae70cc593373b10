import DocumentModel

/// The topic `audit`: calls of the administration API, also those that were refused, in order per app.
///
/// Written by auth. Read by no service: it is for the operator's own systems.
public struct AuditEvent: Sendable {
    /// The CloudEvents id, which is generated and stored together with the row of the audit log.
    @ExactText public var id: String
    /// The app; `*` for a call that is about no app, or about all of them.
    @ExactText public var app: String
    /// The id of the token that was shown.
    public var token: String
    /// The name that the token was given.
    public var tokenName: String
    /// The token's role that admits the call; all of its roles, separated by commas, when none does.
    public var role: String
    /// What was asked for, such as `app.deploy` or `user.disable`; `none` for a request that no route takes.
    public var action: String
    /// The user, secret or trigger that the call is about, if any; of a request that no route takes, the method and path.
    public var target: String?
    /// `done`, or the stable code of the error.
    public var outcome: String
    /// The address of the caller.
    public var address: String
    /// The time of the call, in milliseconds since 1970.
    public var time: Int64

    /// Creates an event; the parameters are described at the properties.
    public init(
        id: String, app: String, token: String, tokenName: String, role: String, action: String, target: String? = nil,
        outcome: String, address: String, time: Int64
    ) {
        self.id = id
        self.app = app
        self.token = token
        self.tokenName = tokenName
        self.role = role
        self.action = action
        self.target = target
        self.outcome = outcome
        self.address = address
        self.time = time
    }
}

extension AuditEvent: EventPayload {
    static let recordedType = "partita.audit.recorded.v1"

    public static let topic = Topic<AuditEvent>(
        "audit", "Calls of the administration API, with their outcome.", partitions: 1,
        cleanup: .delete(after: .seconds(30 * 86_400)), key: "{app}", types: [recordedType], writers: [.auth],
        readers: [])

    public var key: String { EventKey.text(app) }
    public var type: String { Self.recordedType }
    public var eventID: String { id }
    public var subject: String { target ?? app }

    public func encoded() -> Document {
        var document: Document = [
            "app": .string(app), "token": .string(token), "tokenName": .string(tokenName), "role": .string(role),
            "action": .string(action),
        ]
        document.append("target", target.map(Value.string))
        document.append("outcome", .string(outcome))
        document.append("address", .string(address))
        document.append("time", .date(time))
        return document
    }

    public init(_ document: Document, attributes: EventAttributes) throws(EventTopicsError) {
        try attributes.require(type: Self.recordedType, of: Self.topic.name)
        let reader = FieldReader(document)
        self.init(
            id: attributes.id, app: try reader.string("app"), token: try reader.string("token"),
            tokenName: try reader.string("tokenName"), role: try reader.string("role"),
            action: try reader.string("action"), target: try reader.optionalString("target"),
            outcome: try reader.string("outcome"), address: try reader.string("address"),
            time: try reader.date("time"))
    }
}
