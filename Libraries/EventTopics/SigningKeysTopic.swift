import DocumentModel

/// The topic `signing-keys`: the public keys that access tokens are checked with. A message without a value removes a key.
///
/// Written by auth. Read by the other services, so that they don't have to request keys over HTTP.
public struct SigningKeyEvent: Sendable {
    /// The app whose tokens it signs; `*` for every app in the pool.
    @ExactText public var app: String
    /// The key's id, as in the header of tokens.
    public var keyID: String
    /// The public members of the JSON Web Key (RFC 7517).
    public var jwk: Document
    /// The time from which tokens are signed with it, in milliseconds since 1970. It is published earlier.
    public var notBefore: Int64
    /// The time after which none of its tokens is valid, in milliseconds since 1970.
    public var expires: Int64

    /// Creates the event of a key.
    public init(app: String = EventKey.everyone, keyID: String, jwk: Document, notBefore: Int64, expires: Int64) {
        self.app = app
        self.keyID = keyID
        self.jwk = jwk
        self.notBefore = notBefore
        self.expires = expires
    }

    /// The message key of a signing key, also for its tombstone.
    public static func key(app: String = EventKey.everyone, keyID: String) -> String { EventKey.text(app, keyID) }
}

extension SigningKeyEvent: EventPayload {
    static let publishedType = "partita.signing-key.published.v1"

    public static let topic = Topic<SigningKeyEvent>(
        "signing-keys", "The public keys that access tokens are checked with.", partitions: 1, cleanup: .compact,
        key: "{app}/{keyId}", types: [publishedType], writers: [.auth],
        readers: [.syncGateway, .triggerWorkers, .mediaOffload])

    public var key: String { Self.key(app: app, keyID: keyID) }
    public var type: String { Self.publishedType }
    public var eventID: String { "\(app)/\(keyID)/\(expires)" }
    public var subject: String { keyID }
    public var time: Int64 { notBefore }

    public func encoded() -> Document {
        [
            "app": .string(app), "keyId": .string(keyID), "jwk": .document(jwk), "notBefore": .date(notBefore),
            "expires": .date(expires),
        ]
    }

    public init(_ document: Document, attributes: EventAttributes) throws(EventTopicsError) {
        try attributes.require(type: Self.publishedType, of: Self.topic.name)
        let reader = FieldReader(document)
        self.init(
            app: try reader.string("app"), keyID: try reader.string("keyId"), jwk: try reader.document("jwk"),
            notBefore: try reader.date("notBefore"), expires: try reader.date("expires"))
    }
}

extension EventAttributes {
    func require(type expected: String, of topic: String) throws(EventTopicsError) {
        guard type == expected else { throw EventTopicsError(.unknownType, "\(type) is not in \(topic)") }
    }
}
