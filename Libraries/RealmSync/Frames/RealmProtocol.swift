import Texts

/// The version of the protocol that a connection speaks, which the WebSocket's subprotocol names.
public struct RealmProtocol: Hashable, Sendable {
    /// The versions that are spoken.
    public static let versions = 2...14
    /// The first version whose clients know ``RealmErrorCode/compensatingWrite``.
    static let firstWithCompensatingWrites = 5

    /// The version.
    public let version: Int
    /// The subprotocol with which the server answers.
    @ExactText public var token: String

    /// Chooses the highest version that is spoken.
    ///
    /// A client offers one token for each version: `com.mongodb.realm-sync#14`, and with versions up to 7 `com.mongodb.realm-sync/7`. A
    /// token may also name a range of versions (`#2-7`); it is answered with that of one version.
    /// - Parameter offered: The subprotocols of the request.
    /// - Returns: nil if none is spoken: those of flexible synchronization (`com.mongodb.realm-query-sync#`) aren't.
    public static func choose(from offered: [String]) -> RealmProtocol? {
        offered.compactMap(RealmProtocol.init(offered:)).max { $0.version < $1.version }
    }

    private init?(offered token: String) {
        for prefix in ["com.mongodb.realm-sync#", "com.mongodb.realm-sync/"] where token.startsWithBytes(of: prefix) {
            let range = String(decoding: token.utf8.dropFirst(prefix.utf8.count), as: UTF8.self)
            let bounds = range.splitAtBytes("-", maxSplits: 1).map { Self.number($0) }
            guard let first = bounds.first ?? nil, let last = bounds.last ?? nil else { return nil }
            let version = min(last, Self.versions.upperBound)
            guard first <= version, Self.versions.contains(version) else { return nil }
            self.version = version
            self.token = prefix + "\(version)"
            return
        }
        return nil
    }

    private static func number(_ text: String) -> Int? {
        (1...3).contains(text.utf8.count) && text.utf8.allSatisfy { (0x30...0x39).contains($0) } ? Int(text) : nil
    }
}
