import EventLoop

/// A client's connection, as the gateway deals with all of them. Confined to its loop.
protocol GatewaySession: AnyObject, Sendable {
    var shard: FeedShard { get }
    /// The gateway's lease has expired, or is valid again.
    func leaseChanged()
    /// A user was blocked, or a session has ended.
    func shutOutChanged()
    /// An app was removed: ends the connection if it is the client's.
    func appRemoved(_ app: String)
    /// Ends the connection because the gateway stops, or the database was restored; the client connects again, here or elsewhere.
    func shutDown()
}
