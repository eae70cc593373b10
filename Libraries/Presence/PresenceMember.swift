import Texts

/// A device of a user of an app.
public struct PresenceMember: Hashable, Sendable {
    @ExactText public var app: String
    @ExactText public var user: String
    @ExactText public var device: String

    public init(app: String, user: String, device: String) {
        self.app = app
        self.user = user
        self.device = device
    }

    var userText: String { "\(app)/\(user)" }

    /// Reads `app/user/device`; a device's id comes last, since it may contain slashes.
    init?(text: String) {
        let parts = text.splitAtBytes("/", maxSplits: 2)
        guard parts.count == 3 else { return nil }
        self.init(app: parts[0], user: parts[1], device: parts[2])
    }
}
