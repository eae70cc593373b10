/// A version in the history of an app.
public struct AppVersion: Sendable {
    public let number: Int64
    /// When it was deployed, in milliseconds since 1970.
    public let deployedAt: Int64
    /// SHA-256 of all that was deployed, in hexadecimal; `nil` for a version from before histories were kept.
    public let digest: String?
    /// The bytes of the files that services read, without packages.
    public let bytes: Int64
    /// What the operator wrote about it.
    public let message: String?
    /// Who deployed it, and where: `ada@build-1`.
    public let by: String?
    /// The version whose files it has again.
    public let restores: Int64?
    /// Whether services run it.
    public let isCurrent: Bool
}

/// What is recorded of a deployment in the app's history.
public struct DeploymentRecord: Sendable {
    /// What the operator wrote about it.
    public var message: String?
    /// Who deploys, and where.
    public var by: String?
    /// The version whose files are deployed again.
    public var restores: Int64?
    /// Whether documents have to be moved into other partitions once the version is current.
    public var movesDocuments: Bool

    public init(message: String? = nil, by: String? = nil, restores: Int64? = nil, movesDocuments: Bool = false) {
        self.message = message
        self.by = by
        self.restores = restores
        self.movesDocuments = movesDocuments
    }
}
