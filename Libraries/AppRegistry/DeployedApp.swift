public import AppDefinition
import DocumentModel

/// A deployed version of an app. Immutable and shared by reference: services look one up for every request.
public final class DeployedApp: Sendable {
    public let definition: AppDefinition
    /// The number of the deployment, which increases with each one.
    public let version: Int64
    /// The time of the deployment, in milliseconds since 1970.
    public let deployedAt: Int64
    /// The number of changes of the app's secrets. Their values are in `definition`.
    public let secretsVersion: Int64
    /// The names of stored secrets that can't be decrypted, because the key isn't configured or the stored value was altered. They
    /// count as unset.
    public let unreadableSecrets: [String]
    let triggerBeginnings: TriggerBeginnings
    /// The triggers that an operator has paused.
    public let pausedTriggers: [PausedTrigger]
    /// The number of changes of the paused triggers.
    let pausesVersion: Int64

    public var id: String { definition.id }

    public init(
        definition: AppDefinition, version: Int64, deployedAt: Int64, secretsVersion: Int64 = 0,
        unreadableSecrets: [String] = [], triggerBeginnings: TriggerBeginnings = TriggerBeginnings(),
        pausedTriggers: [PausedTrigger] = [], pausesVersion: Int64 = 0
    ) {
        self.definition = definition
        self.version = version
        self.deployedAt = deployedAt
        self.secretsVersion = secretsVersion
        self.unreadableSecrets = unreadableSecrets
        self.triggerBeginnings = triggerBeginnings
        self.pausedTriggers = pausedTriggers
        self.pausesVersion = pausesVersion
    }
}

extension DeployedApp {
    /// When a trigger began, in milliseconds since 1970 by Postgres' clock: earlier events aren't its, although they may still wait.
    public func beginning(of trigger: String) -> Int64 { triggerBeginnings.times[ExactText(trigger)] ?? .min }

    /// The pause of a trigger; `nil` while it isn't paused.
    public func pause(of trigger: String) -> PausedTrigger? {
        pausedTriggers.first { $0.name.hasSameBytes(as: trigger) }
    }
}

/// A change of a deployed app.
public enum AppChange: Sendable {
    /// It was loaded by this process for the first time, or in a new version.
    case deployed(DeployedApp)
    /// It has other secrets than before; its version is the same.
    case secretsChanged(DeployedApp)
    /// It was removed.
    case removed(app: String)

    public var app: String {
        switch self {
        case .deployed(let app), .secretsChanged(let app): app.id
        case .removed(let app): app
        }
    }
}
