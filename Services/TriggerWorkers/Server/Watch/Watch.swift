import AccessTokens
import DocumentModel
import EventLoop

/// One client's stream of the changes of a collection.
final class Watch: Sendable {
    let claims: TokenClaims
    /// The network of the client's address.
    let network: UInt64
    /// The version of the app whose rules apply; another version ends the stream.
    let version: Int64
    let wanted: WatchRequest
    let queue: WatchQueue
    private let isUserStale = Locked(true)

    init(_ claims: TokenClaims, network: UInt64, version: Int64, wanted: WatchRequest, queue: WatchQueue) {
        self.claims = claims
        self.network = network
        self.version = version
        self.wanted = wanted
        self.queue = queue
    }

    /// Reports that the user's custom data may have changed.
    func userChanged() { isUserStale.withLock { $0 = true } }

    /// Whether the user's custom data may have changed since the last call; at first it has.
    func takeUserChange() -> Bool {
        isUserStale.withLock { isStale in
            defer { isStale = false }
            return isStale
        }
    }
}
