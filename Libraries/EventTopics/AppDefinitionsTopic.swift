import DocumentModel

/// The topic `app-definitions`: which version of each app is deployed. The definition itself is in Postgres, in `AppRegistry`.
/// A message without a value means that the app was removed.
///
/// Written by the `partita` tool. Read by every service, which loads the definition again.
public struct AppDefinitionEvent: Hashable, Sendable {
    @ExactText public var app: String
    /// The number of the app's deployment, which increases with each one.
    public var version: Int64
    /// When it was deployed, in milliseconds since 1970.
    public var time: Int64

    /// Creates the event of a deployment.
    public init(app: String, version: Int64, time: Int64) {
        self.app = app
        self.version = version
        self.time = time
    }
}

extension AppDefinitionEvent: EventPayload {
    static let deployedType = "partita.app.deployed.v1"

    public static let topic = Topic<AppDefinitionEvent>(
        "app-definitions", "Which version of each app is deployed.", partitions: 1, cleanup: .compact, key: "{app}",
        types: [deployedType], writers: [.auth, .tool], readers: Topics.services)

    public var key: String { app }
    public var type: String { Self.deployedType }
    public var eventID: String { "\(app)/\(version)" }
    public var subject: String { app }

    public func encoded() -> Document {
        ["app": .string(app), "version": .int64(version), "time": .date(time)]
    }

    public init(_ document: Document, attributes: EventAttributes) throws(EventTopicsError) {
        try attributes.require(type: Self.deployedType, of: Self.topic.name)
        let reader = FieldReader(document)
        self.init(
            app: try reader.string("app"), version: try reader.integer("version"), time: try reader.date("time"))
    }
}
