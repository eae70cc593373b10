import DocumentModel
import SyncEngine

/// A user who is signed in on this device.
public final class Session: Sendable {
    /// The user's id.
    public let userId: String
    let tokens: SessionTokens
    private let client: SyncClient
    private let api: AccountAPI

    init(userId: String, client: SyncClient, tokens: SessionTokens, api: AccountAPI) {
        self.userId = userId
        self.client = client
        self.tokens = tokens
        self.api = api
    }

    // MARK: Partitions

    /// Opens a partition: the data on the device can be read at once, and missing changes are downloaded.
    ///
    /// - Parameters:
    ///   - value: The partition key's value: a string, ObjectId, UUID or integer; `.null` opens the null partition, which has the
    ///     documents without a value, if the app's partition key isn't required.
    ///   - waitForFirstSync: Whether to wait until the device has received the partition's whole state at least once.
    /// - Throws: `PartitaError` with code `badPartition`, or `revoked` while waiting.
    public func openPartition(_ value: Value, waitForFirstSync: Bool = false) async throws -> PartitionHandle {
        guard let partition = Partition(value: value) else {
            throw PartitaError(code: .badPartition, message: "a partition is a string, ObjectId, UUID, integer or null")
        }
        try await client.open(partition)
        let handle = PartitionHandle(partition: partition, client: client)
        if waitForFirstSync { try await handle.waitForFirstSync() }
        return handle
    }

    /// The device's id on the server; it changes after `forked`.
    public func deviceId() async -> String { await client.device }

    // MARK: The connection

    /// The state of the connection, from now on; a slow reader gets only the newest.
    public func connectionStates() async -> AsyncStream<ConnectionState> { await client.states() }

    /// Closes the connection until `goOnline`.
    public func goOffline() async { await client.goOffline() }

    /// Connects; if the connection was waiting for its back-off, it connects immediately.
    public func goOnline() async { await client.goOnline() }

    /// Events that the app may want to show its user, from now on; beyond 256 unread events, the oldest are dropped.
    public func events() async -> AsyncStream<SyncEvent> { await client.eventStream() }

    // MARK: Presence

    /// Sends the user's presence, a state that the app defines, to the devices that watch the user; it is sent again
    /// after reconnections.
    ///
    /// - Parameter data: data that the app adds, at most 4 KiB.
    public func setPresence(_ state: String, data: Document? = nil) async {
        await client.setPresence(state, data: data)
    }

    /// The presence of users, from now on.
    public func observePresence(of users: [String]) async -> AsyncStream<UserPresence> {
        await client.observePresence(of: users)
    }

    // MARK: Functions

    /// Calls a function of the app.
    public func callFunction(_ name: String, _ arguments: Value...) async throws -> Value {
        let api = api
        return try await tokens.withToken { try await api.callFunction(name, arguments, token: $0) }
    }

    /// Ends the session on this device.
    func end() async {
        await client.stop()
        await client.store.close()
    }
}
