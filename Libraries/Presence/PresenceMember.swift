/// A device of a user of an app.
public struct PresenceMember: Hashable, Sendable {
    public var app: String
    public var user: String
    public var device: String

    public init(app: String, user: String, device: String) {
        self.app = app
        self.user = user
        self.device = device
    }

    var userText: String { "\(app)/\(user)" }

    /// `app/user/device`: ids of devices come last, since they may hold slashes.
    init?(text: String) {
        let parts = text.split(separator: "/", maxSplits: 2, omittingEmptySubsequences: false)
        guard parts.count == 3 else { return nil }
        self.init(app: String(parts[0]), user: String(parts[1]), device: String(parts[2]))
    }
}
