public import AppDefinition

/// A deployed version of an app. Immutable and shared by reference: services look one up for every request.
public final class DeployedApp: Sendable {
    public let definition: AppDefinition
    /// Counts the app's deployments.
    public let version: Int64
    /// Milliseconds since 1970.
    public let deployedAt: Int64
    /// Counts the changes of the app's secrets, which are in its definition.
    public let secretsVersion: Int64
    /// Names of secrets that are stored, but can't be read: the key isn't configured, or they were changed. They count as unset.
    public let unreadableSecrets: [String]

    public var id: String { definition.id }

    public init(
        definition: AppDefinition, version: Int64, deployedAt: Int64, secretsVersion: Int64 = 0,
        unreadableSecrets: [String] = []
    ) {
        self.definition = definition
        self.version = version
        self.deployedAt = deployedAt
        self.secretsVersion = secretsVersion
        self.unreadableSecrets = unreadableSecrets
    }
}

/// What happened to an app.
public enum AppChange: Sendable {
    /// It was deployed for the first time (or seen for the first time by this process), or anew.
    case deployed(DeployedApp)
    /// It was removed.
    case removed(app: String)

    public var app: String {
        switch self {
        case .deployed(let app): app.id
        case .removed(let app): app
        }
    }
}
