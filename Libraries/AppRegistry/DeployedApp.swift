public import AppDefinition

/// A deployed version of an app. Immutable and shared by reference: services look one up for every request.
public final class DeployedApp: Sendable {
    public let definition: AppDefinition
    /// Counts the app's deployments.
    public let version: Int64
    /// Milliseconds since 1970.
    public let deployedAt: Int64

    public var id: String { definition.id }

    public init(definition: AppDefinition, version: Int64, deployedAt: Int64) {
        self.definition = definition
        self.version = version
        self.deployedAt = deployedAt
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
